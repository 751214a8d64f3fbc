import { findTerms, parseQuery, type QueryTerm, type TermPlace } from "./query.ts";
import { snippetOf } from "./snippet.ts";
import { foldText, wordsOf } from "./text-index-words.ts";

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
