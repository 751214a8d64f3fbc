import type { ChannelLimits, MessageBody } from "./channel.ts";
import { fromMarkdown } from "./markdown.ts";
import { cutOut, plainMessage, plainWords, type Styled, styled, trimmed } from "./styled.ts";

/**
 * A long text in pieces that fit into messages: cut between paragraphs, else between lines outside of code, else between any lines,
 * else at a space, else anywhere but within a character. A style that is cut continues in the next piece.
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

/** Blank lines go, the indentation of the first line stays where it is code. */
function trimmedPiece(piece: Styled): Styled {
  const [first] = piece.spans;
  if (first?.kind !== "pre" || first.at > 0) return trimmed(piece);
  const blank = /^(?:[ \t]*\n)*/.exec(piece.text)?.[0].length ?? 0;
  const end = piece.text.trimEnd().length;
  return cutOut(piece, Math.min(blank, end), end);
}

/** Whether at least this part of a message is used, rather than cutting at a better place far ahead. */
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

// More than this on a phone is a file.
const maxPieces = 4;
/** Ours. Chat programs take more; people do not read more on a phone. */
const maxDocumentLength = 1024 * 1024;

/** What an agent said, in as few messages as it fits into; a very long text as a file with its beginning beside it. */
export function turnMessages(
  text: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): readonly MessageBody[] {
  const plain = plainWords(text).trim();
  if (plain === "") return [plainMessage(styled("✓ Done, without words."), { replyTo })];
  if (plain.length > limits.maxTextLength * maxPieces) return [asDocument(plain, { limits, replyTo, name })];
  const pieces = splitText(fromMarkdown(plain), limits);
  return pieces.map((piece, index) => plainMessage(piece, { replyTo: index === 0 ? replyTo : null }));
}

// A file's caption holds 1024 characters.
const maxCaptionLength = 900;

function asDocument(
  plain: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): MessageBody {
  const isCut = plain.length > maxDocumentLength;
  const content = isCut ? `${plain.slice(0, maxDocumentLength).toWellFormed()}\n\n(cut here)\n` : plain;
  const beginning = fromMarkdown(plain.slice(0, maxCaptionLength * 2));
  const [first] = splitText(cutOut(beginning, 0, maxCaptionLength), { ...limits, maxTextLength: maxCaptionLength });
  const caption: Styled = styled(trimmed(first ?? styled("")), `\n\n… ${plain.length} characters in the file`);
  return plainMessage(caption, { replyTo, document: { name, content } });
}
