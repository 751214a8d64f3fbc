import { stripVTControlCharacters } from "node:util";
import type { MessageBody, Span } from "./channel.ts";

/** A text with styles. Spans are in order. */
export interface Styled {
  readonly text: string;
  readonly spans: readonly Span[];
}

/** Joins pieces into one text; strings have no style. */
export function styled(...pieces: readonly (string | Styled)[]): Styled {
  return joined(pieces);
}

/** {@link styled} for any number of pieces. */
export function joined(pieces: readonly (string | Styled)[]): Styled {
  let text = "";
  const spans: Span[] = [];
  for (const piece of pieces) {
    const { text: more, spans: moreSpans } = typeof piece === "string" ? { text: piece, spans: [] } : piece;
    for (const span of moreSpans) spans.push({ ...span, at: span.at + text.length });
    text += more;
  }
  return { text, spans };
}

/** All of it in one style. */
export function inStyle(kind: Span["kind"], text: string, more: Pick<Span, "language" | "url"> = {}): Styled {
  return { text, spans: text.length === 0 ? [] : [{ kind, at: 0, length: text.length, ...more }] };
}

/** In bold. */
export const bold = (text: string): Styled => inStyle("bold", text);
/** In a fixed font. */
export const code = (text: string): Styled => inStyle("code", text);

/** A part of a text, with its styles. */
export function cutOut({ text, spans }: Styled, from: number, to: number): Styled {
  const kept = spans.flatMap((span) => {
    const at = Math.max(span.at, from);
    const length = Math.min(span.at + span.length, to) - at;
    return length > 0 ? [{ ...span, at: at - from, length }] : [];
  });
  return { text: text.slice(from, to), spans: kept };
}

/** Without white space at its ends, which chat programs cut off. */
export function trimmed(piece: Styled): Styled {
  const from = piece.text.length - piece.text.trimStart().length;
  return cutOut(piece, from, Math.max(from, piece.text.trimEnd().length));
}

/** A message with this text; `more` overrides defaults. */
export function plainMessage(
  { text, spans }: Styled,
  more: Partial<Omit<MessageBody, "text" | "spans">> = {},
): MessageBody {
  return { text, spans: [...spans], buttons: [], document: null, replyTo: null, silent: false, ...more };
}

/** Control characters except newline and tab, and direction marks. */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text of an agent or a person, safe to show: no escape sequences, no control characters, valid Unicode. */
export function plainWords(text: string): string {
  return stripVTControlCharacters(text.replaceAll("\r\n", "\n")).replace(hidden, "").toWellFormed();
}

/** {@link plainWords} on one line of at most `maxLength`. */
export function plainLine(text: string, maxLength = 200): string {
  return shortened(plainWords(text).replace(/\s+/g, " ").trim(), maxLength);
}

/** Truncates to this length, with a mark; never splits a character. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength
    ? text
    : `${text
        .slice(0, maxLength - 1)
        .toWellFormed()
        .replace(/\ufffd$/, "")}…`;
}
