import type { QueryTerm } from "./query.ts";

/** Numbers of parts begin anew with each transcript: so many fit, 12 GB of text. */
export const maxParts = 2 ** 20;

/** A part of what was said in a transcript; a whole number that holds the transcript's id and the part's number. */
export type PartId = number;

/** @see PartId */
export function partIdOf(transcriptId: number, part: number): PartId {
  return transcriptId * maxParts + part;
}

/** @see PartId */
export function transcriptOfPart(partId: PartId): number {
  return Math.floor(partId / maxParts);
}

/** Where a search looks: in titles alone, in titles and first messages, or in what was said. */
export type SearchField = "title" | "head" | "parts";

/** How a dialect keeps words and finds them. Both give the same answers; only the ranks are each one's own. */
export interface TextStore {
  /** Makes its tables, in an empty catalog. */
  createTables(): Promise<void>;
  /** The last part of a transcript. */
  lastPart(transcriptId: number): Promise<{ readonly partId: PartId; readonly content: string } | null>;
  /** Writes a part, new or in the place of the one with its id. `folded` are its words. */
  putPart(
    partId: PartId,
    part: { readonly content: string; readonly folded: string; readonly isNew: boolean },
  ): Promise<void>;
  dropPart(partId: PartId): Promise<void>;
  putHead(
    transcriptId: number,
    head: { readonly title: string; readonly firstMessage: string; readonly isNew: boolean },
  ): Promise<void>;
  /** Drops parts and head of a transcript. */
  drop(transcriptId: number): Promise<void>;
  /** Leaves no word in the tables that only dropped parts had. */
  mergeAll(): Promise<void>;

  /** Ids (of transcripts, or of parts) where all terms occur. */
  having(field: SearchField, terms: readonly QueryTerm[]): Promise<readonly number[]>;
  /** How well each of those where all terms occur fits; larger is better. */
  ranks(field: SearchField, terms: readonly QueryTerm[]): Promise<ReadonlyMap<number, number>>;
  contents(partIds: readonly PartId[]): Promise<ReadonlyMap<PartId, string>>;
}
