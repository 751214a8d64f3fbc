import { foldText, placedWords, wordsOf } from "./text-index-words.ts";

/** A word, or several consecutive ones, to find. */
export interface QueryTerm {
  /** Folded; at least one. */
  readonly words: readonly string[];
  /** Whether the last word is a prefix. */
  readonly prefix: boolean;
}

/** A quoted phrase, possibly without its closing mark, or text between spaces. */
const chunk = /["“”„«»]([^"“”„«»]*)(["“”„«»]|$)|[^\s"“”„«»]+/g;
const endsInWord = /[\p{L}\p{N}\p{M}\p{Co}\p{Extended_Pictographic}]\s*$/u;

/**
 * The terms of a query, all of which must occur: words, "quoted phrases", the last word as a prefix. Text that is several words in the
 * index (`foo.bar`, a run of Chinese) is a phrase.
 */
export function parseQuery(query: string): readonly QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const chunks = [...query.matchAll(chunk)];
  for (const [number, [whole, quoted, closing]] of chunks.entries()) {
    const words = wordsOf(foldText(quoted ?? whole));
    if (words.length === 0) continue;
    const open = quoted === undefined || closing === "";
    const prefix = number === chunks.length - 1 && open && endsInWord.test(quoted ?? whole);
    terms.set(`${words.join(" ")}${prefix ? "*" : ""}`, { words, prefix });
  }
  return [...terms.values()];
}

/** Where a term occurs in a text. */
export interface TermPlace {
  /** Index in the list of terms. */
  readonly term: number;
  readonly start: number;
  readonly end: number;
}

/** Finds terms in a text, in order. A word is compared only with terms that start with it. */
export function findTerms(text: string, terms: readonly QueryTerm[]): readonly TermPlace[] {
  const words = placedWords(text);
  const { byFirst, open } = startsOf(terms);
  const places: TermPlace[] = [];
  for (const [at, { word, start, end }] of words.entries()) {
    for (const { term, rest, prefix } of byFirst.get(word) ?? []) {
      const last = words[at + rest.length];
      if (last === undefined) continue;
      const found = rest.every((wanted, step) => {
        const there = words[at + step + 1]?.word;
        return prefix && step === rest.length - 1 ? there?.startsWith(wanted) === true : there === wanted;
      });
      if (found) places.push({ term, start, end: last.end });
    }
    for (const { term, begin } of open) {
      if (word.startsWith(begin)) places.push({ term, start, end });
    }
  }
  return places;
}

/** A term after its first word. */
interface TermRest {
  readonly term: number;
  readonly rest: readonly string[];
  readonly prefix: boolean;
}

/** Terms by first word, with single-word prefixes apart (a query has at most one). */
function startsOf(terms: readonly QueryTerm[]) {
  const byFirst = new Map<string, TermRest[]>();
  const open: { readonly term: number; readonly begin: string }[] = [];
  for (const [term, { words, prefix }] of terms.entries()) {
    const [first, ...rest] = words;
    if (first === undefined) continue;
    if (prefix && rest.length === 0) open.push({ term, begin: first });
    else byFirst.set(first, [...(byFirst.get(first) ?? []), { term, rest, prefix }]);
  }
  return { byFirst, open };
}

/** About two terminal lines. */
const snippetCharacters = 160;
/** Context before the match. */
const leadCharacters = 40;
/** How far a cut moves to fall between words. */
const nudgeCharacters = 16;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Whitespace, control characters and marks that change text direction. */
const unsafe = /[\s\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

/** One line of about 160 characters around the matches, or the start of the text, without control characters. */
export function snippetOf(text: string, places: readonly TermPlace[]): string {
  const first = bestPlace(places);
  const start = first === null || first.start <= leadCharacters ? 0 : startNear(text, first.start - leadCharacters);
  const end = start + snippetCharacters >= text.length ? text.length : endNear(text, start + snippetCharacters);
  const line = text.slice(start, end).toWellFormed().replace(unsafe, " ").trim();
  return `${start > 0 ? "…" : ""}${line}${end < text.length ? "…" : ""}`;
}

/** The place with the most different terms nearby. */
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

/** The nearest grapheme boundary at or before `wanted`. */
function boundary(text: string, wanted: number): number {
  const from = Math.max(0, wanted - 2 * nudgeCharacters);
  let at = from;
  for (const { index } of graphemes.segment(text.slice(from, wanted + nudgeCharacters))) {
    if (from + index > wanted) break;
    at = from + index;
  }
  return at;
}

/** Words and queries, for other searches. */
export const searchText = {
  /** The words of a text, folded, in order. */
  words: (text: string): readonly string[] => wordsOf(foldText(text)),
  terms: (query: string): readonly QueryTerm[] => parseQuery(query),
  places: (text: string, terms: readonly QueryTerm[]): readonly TermPlace[] => findTerms(text, terms),
  /** One line around the places, without control characters. */
  snippet: (text: string, places: readonly TermPlace[]): string => snippetOf(text, places),
} as const;
