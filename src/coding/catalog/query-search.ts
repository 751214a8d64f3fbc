import { setImmediate } from "node:timers/promises";
import type { SearchMatch } from "../../wire/coding.ts";
import { findTerms, type QueryTerm } from "./query.ts";
import { snippetOf } from "./snippet.ts";
import { type Piece, piecesOf } from "./text-index.ts";
import { type PartId, type SearchField, type TextStore, transcriptOfPart } from "./text-index-store.ts";

/** A transcript in which all terms occur. */
export interface Hit {
  readonly transcriptId: number;
  /** Whether they all occur in its title. */
  readonly inTitle: boolean;
  /** How well it fits: larger is better. */
  readonly score: number;
  /** Where most of the terms are together; null when that is title and first message. */
  readonly partId: PartId | null;
}

/** Past so many rows with all terms, their ranks tell nothing that is worth the time: the newest come first. */
const maxRanked = 3_000;

/**
 * Finds the transcripts in which every term occurs, in no order. The store is asked for one term after the other, and the event loop
 * is free in between.
 */
export async function findTranscripts(
  store: TextStore,
  { terms, where }: { readonly terms: readonly QueryTerm[]; readonly where: "title" | "all" },
): Promise<readonly Hit[]> {
  return where === "title" ? inHeads(store, terms) : everywhere(store, terms);
}

async function inHeads(store: TextStore, terms: readonly QueryTerm[]): Promise<readonly Hit[]> {
  const ids = await havingAll(store, "head", terms);
  if (ids.size === 0) return [];
  const inTitle = await havingAll(store, "title", terms);
  const ranks = ids.size > maxRanked ? new Map<number, number>() : await store.ranks("head", terms);
  return [...ids].map((transcriptId) => ({
    transcriptId,
    inTitle: inTitle.has(transcriptId),
    score: ranks.get(transcriptId) ?? 0,
    partId: null,
  }));
}

async function havingAll(
  store: TextStore,
  field: SearchField,
  terms: readonly QueryTerm[],
): Promise<ReadonlySet<number>> {
  let all: ReadonlySet<number> | null = null;
  for (const term of terms) {
    all = inBoth(all, new Set(await store.having(field, term)));
    if (all.size === 0) break;
    await setImmediate();
  }
  return all ?? new Set();
}

/** What is in both; null is everything. */
function inBoth(one: ReadonlySet<number> | null, other: ReadonlySet<number>): ReadonlySet<number> {
  return one === null ? other : new Set([...one].filter((id) => other.has(id)));
}

async function everywhere(store: TextStore, terms: readonly QueryTerm[]): Promise<readonly Hit[]> {
  /** How many terms occur in each part. */
  const counts = new Map<PartId, number>();
  let found: ReadonlySet<number> | null = null;
  let inTitle: ReadonlySet<number> | null = null;
  for (const term of terms) {
    const titles = new Set(await store.having("title", term));
    const parts = await store.having("parts", term);
    const here = new Set(titles);
    for (const partId of parts) {
      counts.set(partId, (counts.get(partId) ?? 0) + 1);
      here.add(transcriptOfPart(partId));
    }
    inTitle = inBoth(inTitle, titles);
    found = inBoth(found, here);
    if (found.size === 0) return [];
    await setImmediate();
  }
  return withBestPart(store, terms, { found: found ?? new Set(), inTitle: inTitle ?? new Set(), counts });
}

async function withBestPart(
  store: TextStore,
  terms: readonly QueryTerm[],
  {
    found,
    inTitle,
    counts,
  }: {
    readonly found: ReadonlySet<number>;
    readonly inTitle: ReadonlySet<number>;
    readonly counts: ReadonlyMap<PartId, number>;
  },
): Promise<readonly Hit[]> {
  let complete = 0;
  for (const count of counts.values()) if (count === terms.length) complete++;
  const ranks = complete === 0 || complete > maxRanked ? new Map<number, number>() : await store.ranks("parts", terms);
  const best = new Map<number, { readonly partId: PartId; readonly count: number; readonly rank: number }>();
  for (const [partId, count] of counts) {
    const transcriptId = transcriptOfPart(partId);
    if (!found.has(transcriptId)) continue;
    const rank = ranks.get(partId) ?? 0;
    const other = best.get(transcriptId);
    if (other === undefined || count > other.count || (count === other.count && rank > other.rank)) {
      best.set(transcriptId, { partId, count, rank });
    }
  }
  return [...found].map((transcriptId) => {
    const { partId = null, count = 0, rank = 0 } = best.get(transcriptId) ?? {};
    // All terms close together are worth more than any rank of some of them.
    const score = count === terms.length ? 1 + Math.max(0, rank) : count / (terms.length + 1);
    return { transcriptId, inTitle: inTitle.has(transcriptId), score, partId };
  });
}

/** The texts of a session that a match may be shown from. */
export interface HeadText {
  readonly title: string | null;
  readonly firstMessage: string | null;
}

/** What to show of each hit: the place where most of the terms are together. */
export async function matchesOf(
  store: TextStore,
  hits: readonly (Pick<Hit, "inTitle" | "partId"> & HeadText)[],
  terms: readonly QueryTerm[],
): Promise<readonly SearchMatch[]> {
  const contents = await store.contents(
    hits.flatMap(({ partId, inTitle }) => (partId === null || inTitle ? [] : [partId])),
  );
  return hits.map((hit) => {
    const content = hit.partId === null || hit.inTitle ? undefined : contents.get(hit.partId);
    return content === undefined ? matchInHead(hit, terms) : matchInPieces(piecesOf(content), terms);
  });
}

/** The match in a title or first message: where more terms occur, and with as many in the title. */
export function matchInHead({ title, firstMessage }: HeadText, terms: readonly QueryTerm[]): SearchMatch {
  const inTitle = look(title ?? "", terms);
  const inFirst = look(firstMessage ?? "", terms);
  if (title !== null && (inTitle.terms >= inFirst.terms || firstMessage === null)) {
    return { field: "title", turnIndex: null, snippet: snippetOf(title, inTitle.places) };
  }
  return { field: "first_message", turnIndex: 0, snippet: snippetOf(firstMessage ?? "", inFirst.places) };
}

function matchInPieces(pieces: readonly Piece[], terms: readonly QueryTerm[]): SearchMatch {
  let best: { readonly piece: Piece; readonly found: Looked } | null = null;
  for (const piece of pieces) {
    const found = look(piece.text, terms);
    const better =
      best === null ||
      found.terms > best.found.terms ||
      (found.terms === best.found.terms && found.places.length > best.found.places.length);
    if (better) best = { piece, found };
  }
  const { piece, found } = best ?? { piece: { turnIndex: 0, text: "" }, found: look("", terms) };
  return { field: "turn", turnIndex: piece.turnIndex, snippet: snippetOf(piece.text, found.places) };
}

interface Looked {
  readonly places: ReturnType<typeof findTerms>;
  /** How many different terms occur. */
  readonly terms: number;
}

function look(text: string, terms: readonly QueryTerm[]): Looked {
  const places = findTerms(text, terms);
  return { places, terms: new Set(places.map(({ term }) => term)).size };
}
