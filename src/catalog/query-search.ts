import { setImmediate } from "node:timers/promises";
import type { SearchMatch } from "../wire/session-lists.ts";
import { findTerms, type QueryTerm, snippetOf } from "./query.ts";
import { type Piece, piecesOf } from "./text-index.ts";
import { type PartId, type SearchField, type TextStore, transcriptOfPart } from "./text-store.ts";

/** A transcript that contains all terms. */
export interface Hit {
  readonly transcriptId: number;
  /** Whether its title contains all terms. */
  readonly inTitle: boolean;
  /** Larger is better. */
  readonly score: number;
  /** The part with most of the terms; null for title and first message. */
  readonly partId: PartId | null;
}

/**
 * Terms in more rows do not affect ranks: the counts of common words add little and cost most. If all terms are that common, the newest
 * sessions come first.
 */
const maxRanked = 2_000;

/**
 * Finds transcripts that contain every term, unordered. Queries the store for one term at a time and yields to the event loop in between.
 */
export async function findTranscripts(
  store: TextStore,
  { terms, where }: { readonly terms: readonly QueryTerm[]; readonly where: "title" | "all" },
): Promise<readonly Hit[]> {
  return where === "title" ? inHeads(store, terms) : everywhere(store, terms);
}

async function inHeads(store: TextStore, terms: readonly QueryTerm[]): Promise<readonly Hit[]> {
  const { ids, rare } = await inAllHeads(store, terms);
  if (ids.size === 0) return [];
  const [titles, ranks] = await Promise.all([store.having("title", terms), ranksOf(store, "head", rare)]);
  const inTitle = new Set(titles);
  return [...ids].map((transcriptId) => ({
    transcriptId,
    inTitle: inTitle.has(transcriptId),
    score: ranks.get(transcriptId) ?? 0,
    partId: null,
  }));
}

async function inAllHeads(
  store: TextStore,
  terms: readonly QueryTerm[],
): Promise<{ readonly ids: ReadonlySet<number>; readonly rare: readonly QueryTerm[] }> {
  let ids: ReadonlySet<number> | null = null;
  const rare: QueryTerm[] = [];
  for (const term of longestFirst(terms)) {
    const having = await store.having("head", [term]);
    if (having.length <= maxRanked) rare.push(term);
    ids = intersectionOf(ids, new Set(having));
    if (ids.size === 0) break;
    await setImmediate();
  }
  return { ids: ids ?? new Set(), rare };
}

/** Long words are rare, and narrow the result early. */
function longestFirst(terms: readonly QueryTerm[]): readonly QueryTerm[] {
  const length = ({ words }: QueryTerm): number => words.join("").length;
  return terms.toSorted((one, other) => length(other) - length(one));
}

/** The intersection; null is everything. */
function intersectionOf(one: ReadonlySet<number> | null, other: ReadonlySet<number>): ReadonlySet<number> {
  return one === null ? other : new Set([...one].filter((id) => other.has(id)));
}

async function ranksOf(
  store: TextStore,
  field: SearchField,
  rare: readonly QueryTerm[],
): Promise<ReadonlyMap<number, number>> {
  return rare.length === 0 ? new Map() : store.ranks(field, rare);
}

async function everywhere(store: TextStore, terms: readonly QueryTerm[]): Promise<readonly Hit[]> {
  /** How many terms occur in each part. */
  const counts = new Map<PartId, number>();
  const rare: QueryTerm[] = [];
  let found: ReadonlySet<number> | null = null;
  for (const term of longestFirst(terms)) {
    const [parts, titles] = await Promise.all([store.having("parts", [term]), store.having("title", [term])]);
    if (parts.length <= maxRanked) rare.push(term);
    const here = new Set(titles);
    for (const partId of parts) {
      const transcriptId = transcriptOfPart(partId);
      if (found?.has(transcriptId) === false) continue;
      counts.set(partId, (counts.get(partId) ?? 0) + 1);
      here.add(transcriptId);
    }
    found = intersectionOf(found, here);
    if (found.size === 0) return [];
    await setImmediate();
  }
  const [titles, ranks] = await Promise.all([store.having("title", terms), ranksOf(store, "parts", rare)]);
  const inTitle = new Set(titles);
  return bestParts({ found: found ?? new Set(), counts, ranks }).map((hit) => ({
    transcriptId: hit.transcriptId,
    inTitle: inTitle.has(hit.transcriptId),
    // All terms in one part outrank any part with only some of them.
    score: hit.count === terms.length ? 1 + Math.max(0, hit.rank) : hit.count / (terms.length + 1),
    partId: hit.partId,
  }));
}

interface BestPart {
  readonly transcriptId: number;
  readonly partId: PartId | null;
  /** Number of terms it contains. */
  readonly count: number;
  readonly rank: number;
}

/** The part of each transcript with the most terms, then the best rank. */
function bestParts(all: {
  readonly found: ReadonlySet<number>;
  readonly counts: ReadonlyMap<PartId, number>;
  readonly ranks: ReadonlyMap<PartId, number>;
}): readonly BestPart[] {
  const best = new Map<number, BestPart>();
  for (const [partId, count] of all.counts) {
    const transcriptId = transcriptOfPart(partId);
    if (!all.found.has(transcriptId)) continue;
    const rank = all.ranks.get(partId) ?? 0;
    const other = best.get(transcriptId);
    if (other === undefined || count > other.count || (count === other.count && rank > other.rank)) {
      best.set(transcriptId, { transcriptId, partId, count, rank });
    }
  }
  return [...all.found].map(
    (transcriptId) => best.get(transcriptId) ?? { transcriptId, partId: null, count: 0, rank: 0 },
  );
}

/** Texts of a session from which matches can be shown. */
export interface HeadText {
  readonly title: string | null;
  readonly firstMessage: string | null;
}

/** The match to show for each hit: where most of the terms are. */
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

/** The match in the title or the first message, whichever has more terms; the title on a tie. */
function matchInHead({ title, firstMessage }: HeadText, terms: readonly QueryTerm[]): SearchMatch {
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
