import { inStyle, joined, type Styled, styled } from "./styled.ts";

// Ours: people do not write such lines, and looking for styles in them would take long.
const maxStyledLineLength = 1_000;

/**
 * What agents write, as styled text: fences, headings, lists, tables, code, bold, italic, strikethrough and links. What is no Markdown stays as
 * it is; nothing is lost and nothing can fail.
 */
export function fromMarkdown(text: string): Styled {
  const pieces: (string | Styled)[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; ) {
    if (at > 0) pieces.push("\n");
    const block = fenceAt(lines, at) ?? tableAt(lines, at);
    if (block === null) {
      pieces.push(lineOf(lines[at] ?? ""));
      at += 1;
    } else {
      pieces.push(block.piece);
      at = block.next;
    }
  }
  return joined(pieces);
}

interface Block {
  readonly piece: Styled;
  readonly next: number;
}

/** A fenced block that begins here; one that is never closed goes to the end. */
function fenceAt(lines: readonly string[], at: number): Block | null {
  const [, indent = "", fence, language = ""] =
    /^( {0,3})(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/.exec(lines[at] ?? "") ?? [];
  if (fence === undefined) return null;
  const closing = new RegExp(`^ {0,3}${fence[0] === "~" ? "~" : "`"}{${fence.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end] ?? "")) end += 1;
  const inside = lines.slice(at + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  const piece = inStyle("pre", inside.join("\n"), language === "" ? {} : { language });
  return { piece, next: end + 1 };
}

/** A table is shown as it was written: its columns only stand in line in a fixed font. */
function tableAt(lines: readonly string[], at: number): Block | null {
  if (!/^\s*\|.*\|\s*$/.test(lines[at] ?? "") || !/^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? "")) return null;
  let end = at + 2;
  while (end < lines.length && /^\s*\|/.test(lines[end] ?? "")) end += 1;
  return { piece: inStyle("pre", lines.slice(at, end).join("\n")), next: end };
}

function lineOf(line: string): Styled {
  if (line.length > maxStyledLineLength) return styled(line);
  const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
  if (heading !== undefined) return inStyle("bold", inline(heading).text);
  const [, indent, rest] = /^(\s*)[-*+]\s+(.*)$/.exec(line) ?? [];
  if (rest !== undefined) return styled(`${indent}• `, inline(rest));
  return inline(line);
}

/** Each alternative with its inner text in its own groups. Code first: nothing in it is a mark. */
const marks =
  /(?<ticks>`+)(?<code>.*?[^`])\k<ticks>(?!`)|\*\*(?<strong>\S(?:.*?\S)?)\*\*|(?<!\w)__(?<strong2>\S(?:.*?\S)?)__(?!\w|\.\w)|~~(?<strike>\S(?:.*?\S)?)~~|\[(?<label>[^\][]+)\]\((?<url>https?:\/\/[^\s()]+)\)|(?<![\w*])\*(?<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|(?<![\w])_(?<emphasis2>[^\s_](?:[^_]*[^\s_])?)_(?![\w])/g;

function inline(line: string): Styled {
  const pieces: (string | Styled)[] = [];
  let from = 0;
  for (const match of line.matchAll(marks)) {
    pieces.push(line.slice(from, match.index), marked(match.groups ?? {}));
    from = match.index + match[0].length;
  }
  return joined([...pieces, line.slice(from)]);
}

function marked(groups: Readonly<Record<string, string | undefined>>): Styled {
  if (groups["code"] !== undefined) return inStyle("code", groups["code"]);
  if (groups["label"] !== undefined) return inStyle("link", groups["label"], { url: groups["url"] ?? "" });
  const strong = groups["strong"] ?? groups["strong2"];
  if (strong !== undefined) return around("bold", strong);
  if (groups["strike"] !== undefined) return around("strike", groups["strike"]);
  return around("italic", groups["emphasis"] ?? groups["emphasis2"] ?? "");
}

/** Marks within marks. Code is never part of another style: chat programs allow no such thing. */
function around(kind: "bold" | "italic" | "strike", text: string): Styled {
  const inner = inline(text);
  if (inner.spans.some((span) => span.kind === "code")) return inner;
  return { text: inner.text, spans: [...inStyle(kind, inner.text).spans, ...inner.spans] };
}
