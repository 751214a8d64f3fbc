/** A block of markdown. What is inside a paragraph is left to `parseInline`. */
export type MarkdownBlock =
  | { readonly type: "paragraph"; readonly text: string }
  | { readonly type: "heading"; readonly level: number; readonly text: string }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "quote"; readonly children: readonly MarkdownBlock[] }
  | {
      readonly type: "list";
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly (readonly MarkdownBlock[])[];
    }
  | { readonly type: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly type: "rule" };

/** Lists and quotes nest no deeper; below it their text stands as it was written. */
const maxDepth = 8;

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +)(?=\S)|^( {0,3})([-*+]|\d{1,9}[.)])\s*$/;
const quote = /^ {0,3}> ?/;
const tableRule = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The blocks of a text, in one pass over its lines. */
export function parseMarkdown(text: string, depth = 0): readonly MarkdownBlock[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: MarkdownBlock[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) blocks.push({ type: "paragraph", text: paragraph.join("\n") });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; ) {
    const taken = paragraph.length > 0 && !interrupts(lines, at) ? null : takeBlock(lines, at, depth);
    if (taken !== null) {
      flush();
      if (taken.block !== null) blocks.push(taken.block);
      at = taken.next;
    } else {
      const line = lines[at] ?? "";
      if (line.trim() === "") flush();
      else paragraph.push(line.trimStart());
      at += 1;
    }
  }
  flush();
  return blocks;
}

/** A numbered line in the middle of a paragraph is a list only when it begins at one: a year at a line's start is none. */
function interrupts(lines: readonly string[], at: number): boolean {
  const marker = item.exec(lines[at] ?? "")?.[2];
  return marker === undefined || !/\d/.test(marker) || /^1[.)]$/.test(marker);
}

interface Taken {
  readonly block: MarkdownBlock | null;
  readonly next: number;
}

function takeBlock(lines: readonly string[], at: number, depth: number): Taken | null {
  const line = lines[at] ?? "";
  const fenced = fence.exec(line);
  if (fenced !== null) return takeCode(lines, at, { mark: fenced[1] ?? "```", language: fenced[2] ?? "" });
  const titled = heading.exec(line);
  if (titled !== null) {
    return { block: { type: "heading", level: (titled[1] ?? "#").length, text: titled[2] ?? "" }, next: at + 1 };
  }
  if (rule.test(line)) return { block: { type: "rule" }, next: at + 1 };
  if (line.includes("|") && tableRule.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-")) {
    return takeTable(lines, at);
  }
  if (depth >= maxDepth) return null;
  if (quote.test(line)) return takeQuote(lines, at, depth);
  if (item.test(line)) return takeList(lines, at, depth);
  return null;
}

function takeCode(
  lines: readonly string[],
  at: number,
  { mark, language }: { readonly mark: string; readonly language: string },
): Taken {
  const indent = /^ */.exec(lines[at] ?? "")?.[0].length ?? 0;
  const body: string[] = [];
  let next = at + 1;
  for (; next < lines.length; next++) {
    const line = lines[next] ?? "";
    const trimmed = line.trim();
    if (trimmed.length >= mark.length && trimmed === (mark[0] ?? "`").repeat(trimmed.length)) break;
    body.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
  }
  return { block: { type: "code", language: language.toLowerCase(), text: body.join("\n") }, next: next + 1 };
}

function takeQuote(lines: readonly string[], at: number, depth: number): Taken {
  let next = at;
  const body: string[] = [];
  for (; next < lines.length && quote.test(lines[next] ?? ""); next++)
    body.push((lines[next] ?? "").replace(quote, ""));
  return { block: { type: "quote", children: parseMarkdown(body.join("\n"), depth + 1) }, next };
}

function takeList(lines: readonly string[], at: number, depth: number): Taken {
  const first = item.exec(lines[at] ?? "");
  const firstMarker = first?.[2] ?? first?.[5] ?? "-";
  const ordered = /\d/.test(firstMarker);
  const kind = firstMarker.at(-1);
  const items: (readonly MarkdownBlock[])[] = [];
  let next = at;
  while (next < lines.length) {
    const begin = item.exec(lines[next] ?? "");
    const marker = begin?.[2] ?? begin?.[5];
    if (begin === null || marker === undefined || marker.at(-1) !== kind || rule.test(lines[next] ?? "")) break;
    const width = (begin[1] ?? begin[4] ?? "").length + marker.length + Math.min(4, (begin[3] ?? " ").length);
    const body = [(lines[next] ?? "").slice(width)];
    next += 1;
    for (; next < lines.length; next++) {
      const line = lines[next] ?? "";
      const indent = line.length - line.trimStart().length;
      if (line.trim() === "") {
        const after = lines.slice(next + 1).find((later) => later.trim() !== "");
        if (after === undefined) break;
        const deeper = after.length - after.trimStart().length >= Math.min(width, 2);
        if (!deeper) break;
        body.push("");
      } else if (indent >= Math.min(width, 2)) body.push(line.slice(Math.min(indent, width)));
      else if (item.test(line) || quote.test(line) || fence.test(line) || heading.test(line) || body.at(-1) === "")
        break;
      else body.push(line);
    }
    items.push(parseMarkdown(body.join("\n"), depth + 1));
    if (lines[next]?.trim() === "" && item.test(lines[next + 1] ?? "")) next += 1;
  }
  const start = ordered ? Number.parseInt(firstMarker, 10) : 1;
  return { block: { type: "list", ordered, start, items }, next };
}

function takeTable(lines: readonly string[], at: number): Taken {
  const head = cellsOf(lines[at] ?? "");
  const rows: (readonly string[])[] = [];
  let next = at + 2;
  for (; next < lines.length && (lines[next] ?? "").includes("|"); next++) {
    const cells = cellsOf(lines[next] ?? "");
    rows.push(head.map((_, column) => cells[column] ?? ""));
  }
  return { block: { type: "table", head, rows }, next };
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
