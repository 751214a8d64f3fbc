import { foldText, placedWords, wordsOf } from "./text-index-words.ts";

/** What has to occur: one word, or several right after each other. */
export interface QueryTerm {
  /** Folded; at least one. */
  readonly words: readonly string[];
  /** Whether the last word may go on. */
  readonly prefix: boolean;
}

/** A quoted phrase, whose last quotation mark may be missing, or what stands between spaces. */
const chunk = /["“”„«»]([^"“”„«»]*)(["“”„«»]|$)|[^\s"“”„«»]+/g;
const endsInWord = /[\p{L}\p{N}\p{M}\p{Co}\p{Extended_Pictographic}]\s*$/u;

/**
 * The terms of a query, all of which have to occur: words, "quoted phrases", the last word also as a prefix. A chunk that
 * is several words in the index (`foo.bar`, a run of Chinese) is a phrase.
 *
 * @returns an empty list when there is nothing to search for
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
  /** Its number in the list of terms. */
  readonly term: number;
  readonly start: number;
  readonly end: number;
}

/** Where the terms occur in a text, in the order of the text. */
export function findTerms(text: string, terms: readonly QueryTerm[]): readonly TermPlace[] {
  const words = placedWords(text);
  const places: TermPlace[] = [];
  for (let at = 0; at < words.length; at++) {
    for (const [term, { words: wanted, prefix }] of terms.entries()) {
      const last = words[at + wanted.length - 1];
      const first = words[at];
      if (first === undefined || last === undefined) continue;
      const found = wanted.every((word, step) => {
        const there = words[at + step]?.word;
        return prefix && step === wanted.length - 1 ? there?.startsWith(word) === true : there === word;
      });
      if (found) places.push({ term, start: first.start, end: last.end });
    }
  }
  return places;
}
