import type { ChannelLimits, MessageBody } from "./channel.ts";
import { cutOut, inStyle, joined, plainMessage, plainWords, type Styled, styled, trimmed } from "./styled.ts";

// People do not write longer lines, and finding styles in them would take long.
const maxStyledLineLength = 1_000;

/**
 * Parses agents' Markdown into styled text: fences, headings, lists, tables, code, bold, italic, strikethrough and links. Other text
 * stays unchanged. Nothing is lost, and parsing cannot fail.
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

/** A fenced block that starts here; one that is never closed extends to the end. */
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

/** A table is shown as written, in a fixed-width font that aligns its columns. */
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

/** Each alternative has its inner text in its own group. Code is tried first, because it contains no nested marks. */
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

/** Nested marks. Code is never part of another style, because chat programs do not allow it. */
function around(kind: "bold" | "italic" | "strike", text: string): Styled {
  const inner = inline(text);
  if (inner.spans.some((span) => span.kind === "code")) return inner;
  return { text: inner.text, spans: [...inStyle(kind, inner.text).spans, ...inner.spans] };
}

/**
 * Splits a long text into pieces that fit into messages: between paragraphs, else between lines outside of code, else between any lines,
 * else at a space, else anywhere except within a character. A split style continues in the next piece.
 */
export function splitText(whole: Styled, { maxTextLength, maxSpans }: ChannelLimits): readonly Styled[] {
  const pieces: Styled[] = [];
  for (let from = 0; from < whole.text.length; ) {
    const to = endOfPiece(whole, from, { maxTextLength, maxSpans });
    const piece = trimmedPiece(cutOut(whole, from, to));
    if (piece.text !== "") pieces.push(piece);
    from = to;
  }
  return pieces;
}

/** Removes blank lines; keeps the first line's indentation if it is code. */
function trimmedPiece(piece: Styled): Styled {
  const [first] = piece.spans;
  if (first?.kind !== "pre" || first.at > 0) return trimmed(piece);
  const blank = /^(?:[ \t]*\n)*/.exec(piece.text)?.[0].length ?? 0;
  const end = piece.text.trimEnd().length;
  return cutOut(piece, Math.min(blank, end), end);
}

/** Fill at least this part of a message, rather than splitting at a better place far earlier. */
const leastShare = 0.3;

function endOfPiece(
  { text, spans }: Styled,
  from: number,
  { maxTextLength, maxSpans }: Pick<ChannelLimits, "maxTextLength" | "maxSpans">,
): number {
  const surplus = spans.filter((span) => span.at + span.length > from)[maxSpans];
  const furthest = Math.min(from + maxTextLength, surplus === undefined ? text.length : Math.max(surplus.at, from + 1));
  if (furthest >= text.length) return text.length;
  const least = from + Math.floor((furthest - from) * leastShare);
  const isCode = (at: number): boolean =>
    spans.some((span) => span.kind === "pre" && span.at < at && at < span.at + span.length);
  const line = (at: number): boolean => text[at - 1] === "\n";
  const wanted: readonly ((at: number) => boolean)[] = [
    (at) => line(at) && text[at - 2] === "\n" && !isCode(at),
    (at) => line(at) && !isCode(at),
    line,
    (at) => text[at - 1] === " ",
  ];
  for (const isGood of wanted) {
    for (let at = furthest; at > least; at -= 1) if (isGood(at)) return at;
  }
  const half = /[\ud800-\udbff]/.test(text[furthest - 1] ?? "");
  return half && furthest - 1 > from ? furthest - 1 : furthest;
}

// Longer answers are sent as a file, for reading on a phone.
const maxPieces = 4;
/** Chat programs accept more, but people do not read more on a phone. */
const maxDocumentLength = 1024 * 1024;

/** An agent's text in as few messages as possible; a very long text as a file next to its beginning. */
export function turnMessages(
  text: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): readonly MessageBody[] {
  const plain = plainWords(text).trim();
  if (plain === "") return [plainMessage(styled("✓ Done, with no message."), { replyTo })];
  if (plain.length > limits.maxTextLength * maxPieces) return [asDocument(plain, { limits, replyTo, name })];
  const pieces = splitText(fromMarkdown(plain), limits);
  return pieces.map((piece, index) => plainMessage(piece, { replyTo: index === 0 ? replyTo : null }));
}

// Telegram limits a file's caption to 1024 characters.
const maxCaptionLength = 900;

function asDocument(
  plain: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): MessageBody {
  const isCut = plain.length > maxDocumentLength;
  const content = isCut ? `${plain.slice(0, maxDocumentLength).toWellFormed()}\n\n(truncated)\n` : plain;
  const beginning = fromMarkdown(plain.slice(0, maxCaptionLength * 2));
  const [first] = splitText(cutOut(beginning, 0, maxCaptionLength), { ...limits, maxTextLength: maxCaptionLength });
  const caption: Styled = styled(
    trimmed(first ?? styled("")),
    `\n\n… The file contains all ${plain.length} characters.`,
  );
  return plainMessage(caption, { replyTo, document: { name, content } });
}
