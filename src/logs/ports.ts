import type { Assertion } from "./assertion.ts";

/** Who asks: as much of a caller as the memory needs to know. */
export interface LogsCaller {
  readonly accountId: string;
  /** Folders (real paths) that the caller's token is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
}

/** Those of many directories (which may be gone) whose sessions may be seen by the folder rule, by who is limited to `within`. */
export type VisibleAmong = (dirs: readonly string[], within: readonly string[] | null) => Promise<ReadonlySet<string>>;

/** What has to occur: one word, or several right after each other. */
export interface SearchTerm {
  /** Folded; at least one. */
  readonly words: readonly string[];
  /** Whether the last word may go on. */
  readonly prefix: boolean;
}

/** Where a term occurs in a text. */
export interface TermPlace {
  readonly term: number;
  readonly start: number;
  readonly end: number;
}

/** What a word is, and what a query asks for: the same as for transcripts. */
export interface SearchText {
  /** The words of a text, folded, in order. */
  words(text: string): readonly string[];
  /** What a query asks for; empty when it is nothing. */
  terms(query: string): readonly SearchTerm[];
  places(text: string, terms: readonly SearchTerm[]): readonly TermPlace[];
  /** One line around the places, without control characters. */
  snippet(text: string, places: readonly TermPlace[]): string;
}

/** Finds more than rules can, in its own time: a model. */
export interface Extractor {
  /** Tells its facts from others: `llm:<model>@<prompt hash>`. */
  readonly name: string;
  /** @param text secrets are masked in it; whatever it says is untrusted */
  extract(
    text: string,
    options: { readonly sessionId: string | null; readonly observedAt: number; readonly signal: AbortSignal },
  ): Promise<readonly Assertion[]>;
}
