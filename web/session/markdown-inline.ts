/** A piece of a line of markdown. */
export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "strong" | "emphasis" | "deleted"; readonly children: readonly Inline[] }
  | { readonly type: "link"; readonly href: string; readonly children: readonly Inline[] }
  | { readonly type: "break" };

/** Emphasis inside emphasis inside emphasis: nobody writes more, and what nests without end comes from nobody good. */
const maxDepth = 6;

type Rule = readonly [pattern: RegExp, piece: (match: RegExpExecArray, depth: number) => Inline | null];

/** Each pattern is bound to where it is tried, and none can go back over more than a line. */
const rules: readonly Rule[] = [
  [/\\([\\`*_{}[\]()#+\-.!|~<>])/y, ([, text = ""]) => ({ type: "text", text })],
  [
    /(`{1,4})(?!`)([^\n]*?[^`\n])\1(?!`)/y,
    ([, , text = ""]) => ({ type: "code", text: text.replace(/^ (.+) $/, "$1") }),
  ],
  [/\*\*(?=\S)([^\n]*?\S)\*\*/y, ([, text = ""], depth) => nested("strong", text, depth)],
  [/__(?=\S)([^\n]*?\S)__(?!\w)/y, ([, text = ""], depth) => nested("strong", text, depth)],
  [/~~(?=\S)([^\n]*?\S)~~/y, ([, text = ""], depth) => nested("deleted", text, depth)],
  [/\*(?=[^\s*])([^\n*]*?[^\s*])\*(?!\*)/y, ([, text = ""], depth) => nested("emphasis", text, depth)],
  [/_(?=[^\s_])([^\n_]*?[^\s_])_(?!\w)/y, ([, text = ""], depth) => nested("emphasis", text, depth)],
  [/!?\[([^\]\n]{0,1000})\]\(<?([^\s)>]{1,2000})>?(?:\s+"[^"\n]{0,500}")?\)/y, linkOf],
  [/<(https?:\/\/[^\s<>]{1,2000})>/y, ([, href = ""]) => link(href, [{ type: "text", text: href }])],
  [/https?:\/\/[^\s<>"'`\])]{1,2000}[^\s<>"'`\]).,;:!?*_~]/y, ([href]) => link(href, [{ type: "text", text: href }])],
  [/ {2,}\n|\\\n/y, () => ({ type: "break" })],
];

/** Where a rule may begin; between words an underscore is a character as any other. */
const special = /[\\`*_~![<\n ]|https?:\/\//g;

/** The pieces of a paragraph. Text is text: no HTML, and links lead to http and https alone. */
export function parseInline(text: string, depth = 0): readonly Inline[] {
  const pieces: Inline[] = [];
  let plainFrom = 0;
  let at = 0;
  const flush = (to: number): void => {
    if (to > plainFrom) pieces.push({ type: "text", text: text.slice(plainFrom, to) });
  };
  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text);
    if (next === null) break;
    at = next.index;
    const found = depth < maxDepth ? match(text, at, depth) : null;
    if (found === null) {
      at += 1;
      continue;
    }
    flush(at);
    pieces.push(found.piece);
    at += found.length;
    plainFrom = at;
  }
  flush(text.length);
  return pieces;
}

function match(text: string, at: number, depth: number): { readonly piece: Inline; readonly length: number } | null {
  if (text[at] === "_" && /\w/.test(text[at - 1] ?? "")) return null;
  for (const [pattern, piece] of rules) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    const made = found === null ? null : piece(found, depth);
    if (found !== null && made !== null) return { piece: made, length: found[0].length };
  }
  return null;
}

function nested(type: "strong" | "emphasis" | "deleted", text: string, depth: number): Inline {
  return { type, children: parseInline(text, depth + 1) };
}

function linkOf([whole, words = "", href = ""]: RegExpExecArray, depth: number): Inline | null {
  const children = words === "" ? [{ type: "text", text: href } as const] : parseInline(words, depth + 1);
  // A picture is not loaded: no request leaves for what a transcript names.
  if (whole.startsWith("!")) return link(href, [{ type: "text", text: words === "" ? href : words }]);
  return link(href, children);
}

/** Null where the address is none that may be opened; then the text stays as it was written. */
function link(href: string, children: readonly Inline[]): Inline | null {
  const safe = webAddress(href);
  return safe === null ? null : { type: "link", href: safe, children };
}

/** The address, when it is one of http or https and carries no password; else null. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? href : null;
}
