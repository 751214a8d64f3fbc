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

/** Where the terms occur in a text, in the order of the text. A word is compared only with terms that begin with it. */
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

/** The terms by their first word; those that are only the beginning of a word, which no query has more than one of, apart. */
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
