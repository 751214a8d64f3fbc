/**
 * Makes text of a transcript inert as Markdown: it keeps its words, lists, emphasis and code, and cannot contain headings, links, images or
 * HTML. A reader would otherwise load pictures from the web, or see turns that never happened.
 *
 * Every bracket, angle bracket and open backtick gets a backslash, unless the text already has one there, because a second one would undo
 * it. Code spans are rewritten so that they open and close on the same line, with unchanged content. Fenced code is rewritten at the start
 * of a line, where it ends every other construct.
 */
export function inertMarkdown(text: string): string {
  const lines = text.split("\n");
  const blocks: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const fence = fenceAt(lines, at);
    blocks.push(fence === null ? inertLine(lines[at] ?? "") : fenced(fence.content, fence.language));
    at = fence?.next ?? at + 1;
  }
  return blocks.join("\n");
}

/** Code with a fence longer than every run of the fence's character in it. */
export function fenced(content: string, language = ""): string {
  const longest = (content.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${content}${content.endsWith("\n") || content === "" ? "" : "\n"}${fence}`;
}

/** Text in one line, without any structure. */
export function inertInline(text: string): string {
  return entities(text.replace(/\s+/g, " ").trim(), /[\\`*[\]<>#&~|]/g);
}

interface Fence {
  readonly content: string;
  readonly language: string;
  readonly next: number;
}

/** A viewer could render these instead of showing them as code. */
const drawn = new Set(["mermaid", "geojson", "topojson", "stl", "math", "plantuml", "dot", "graphviz", "html", "svg"]);

/** A fenced block that begins here; one that is never closed extends to the end. */
function fenceAt(lines: readonly string[], at: number): Fence | null {
  const line = lines[at] ?? "";
  const [opening = "", indent = "", fence, language = ""] =
    /^([ \t]{0,12})(`{3,}(?!`)|~{3,}(?!~))[ \t]{0,100}([\w+#-]{0,30})/.exec(line) ?? [];
  if (fence === undefined || line.includes("`", opening.length)) return null;
  const closing = new RegExp(`^[ \\t]{0,12}${fence[0] === "~" ? "~" : "`"}{${fence.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end] ?? "")) end += 1;
  const content = lines.slice(at + 1, end).map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each));
  const shown = drawn.has(language.toLowerCase()) ? "" : language;
  return { content: content.join("\n"), language: shown, next: end + 1 };
}

/** Longer lines are treated as plain text, because finding code in them would take too long. */
const maxLineLength = 20_000;

function inertLine(line: string): string {
  // An underline would turn the line above into a heading.
  if (/^[\s>]*[=-][\s=-]*$/.test(line)) return line.replace(/[=-]/, "\\$&");
  // Quotes and lists can start with a heading.
  const [markers = ""] = /^[\s>*+\d.)-]*/.exec(line) ?? [];
  if (line[markers.length] !== "#") return inertSpans(line);
  return `${inertSpans(markers)}\\#${inertSpans(line.slice(markers.length + 1))}`;
}

function inertSpans(line: string): string {
  if (line.length > maxLineLength || !line.includes("`")) return inert(line);
  let shown = "";
  let from = 0;
  for (const span of line.matchAll(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g)) {
    shown += beforeCode(inert(line.slice(from, span.index))) + span[0];
    from = span.index + span[0].length;
  }
  return shown + inert(line.slice(from));
}

/** A backslash would escape the opening backtick. */
function beforeCode(text: string): string {
  return text.endsWith("\\") ? `${text.slice(0, -1)}&#92;` : text;
}

/** Without links, images, references, HTML, and open code spans and fences. An image needs the bracket of a link. */
function inert(text: string): string {
  const escaped = text.replace(/\\[^]|[[<`]/g, (found) => (found.length === 1 ? `\\${found}` : found));
  return entities(escaped, /~(?=~~)|(?<=~)~(?=~)|(?<=~~)~/g);
}

function entities(text: string, active: RegExp): string {
  return text.replace(active, (character) => `&#${character.charCodeAt(0)};`);
}
