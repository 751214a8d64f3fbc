import { findTerms, parseQuery, type QueryTerm, type TermPlace } from "./query.ts";
import { foldText, wordsOf } from "./text-index-words.ts";

/** About two lines of a terminal. */
const snippetCharacters = 160;
/** What stands before the match, so that it can be understood. */
const leadCharacters = 40;
/** A cut moves so far to fall between words. */
const nudgeCharacters = 16;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Control characters, line ends among them, and the marks that reverse the order of what follows. */
const unsafe = /[\s\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

/** The text around the places where terms occur, or its beginning: one line of about 160 characters, without control characters. */
export function snippetOf(text: string, places: readonly TermPlace[]): string {
  const first = bestPlace(places);
  const start = first === null || first.start <= leadCharacters ? 0 : startNear(text, first.start - leadCharacters);
  const end = start + snippetCharacters >= text.length ? text.length : endNear(text, start + snippetCharacters);
  const line = text.slice(start, end).toWellFormed().replace(unsafe, " ").trim();
  return `${start > 0 ? "…" : ""}${line}${end < text.length ? "…" : ""}`;
}

/** The place from which the most different terms are near. */
function bestPlace(places: readonly TermPlace[]): TermPlace | null {
  let best: { readonly place: TermPlace; readonly terms: number } | null = null;
  for (const [number, place] of places.entries()) {
    const near = new Set<number>();
    for (let at = number; at < places.length; at++) {
      const other = places[at];
      if (other === undefined || other.end > place.start + snippetCharacters - leadCharacters) break;
      near.add(other.term);
    }
    if (best === null || near.size > best.terms) best = { place, terms: near.size };
  }
  return best?.place ?? null;
}

function startNear(text: string, wanted: number): number {
  const space = text.slice(wanted, wanted + nudgeCharacters).search(/\s/);
  return space >= 0 ? wanted + space + 1 : boundary(text, wanted);
}

function endNear(text: string, wanted: number): number {
  const tail = text.slice(wanted - nudgeCharacters, wanted);
  const space = tail.search(/\s\S*$/);
  return space >= 0 ? wanted - nudgeCharacters + space : boundary(text, wanted);
}

/** The nearest place at or before `wanted` that is not inside of what a reader sees as one character. */
function boundary(text: string, wanted: number): number {
  const from = Math.max(0, wanted - 2 * nudgeCharacters);
  let at = from;
  for (const { index } of graphemes.segment(text.slice(from, wanted + nudgeCharacters))) {
    if (from + index > wanted) break;
    at = from + index;
  }
  return at;
}

/** What a word is, and what a query asks for: one notion, for whoever else searches in texts. */
export const searchText = {
  /** The words of a text, folded, in order. */
  words: (text: string): readonly string[] => wordsOf(foldText(text)),
  /** What a query asks for; empty when it is nothing. */
  terms: (query: string): readonly QueryTerm[] => parseQuery(query),
  places: (text: string, terms: readonly QueryTerm[]): readonly TermPlace[] => findTerms(text, terms),
  /** One line around the places, without control characters. */
  snippet: (text: string, places: readonly TermPlace[]): string => snippetOf(text, places),
} as const;
