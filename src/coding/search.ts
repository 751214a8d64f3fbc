import type { SearchInput, SearchMatch, SearchOutput } from "../wire/coding.ts";
import { findTerms, parseQuery, type QueryTerm } from "./catalog/query.ts";
import { type FoundFilter, type FoundRow, headsOf, recordedTitles, rowsOf } from "./catalog/query-rows.ts";
import { findTranscripts, type Hit, matchesOf } from "./catalog/query-search.ts";
import { sessionDirs } from "./catalog/session-rows.ts";
import { createTextStore } from "./catalog/text-index.ts";
import { codingError } from "./errors.ts";
import { agentsOf, type ListDeps } from "./list.ts";
import type { Caller } from "./ports.ts";

const defaultLimit = 10;
/** A catalog that is made for the first time has its newest page by then. */
const firstPageMs = 200;

/** A session that was found, and how well it fits. */
interface Found extends FoundRow, Pick<Hit, "inTitle" | "score" | "partId"> {
  /** The title on record, when the transcript has none. */
  readonly recordedTitle: string | null;
}

/** What searching needs: what listing does. */
export interface SearchDeps extends Omit<ListDeps, "catalog"> {
  readonly catalog: Pick<ListDeps["catalog"], "database" | "firstPage" | "indexing">;
}

type Reader = Awaited<ReturnType<ListDeps["catalog"]["database"]>>;

/**
 * `coding_search_sessions`: the sessions in which every word of the query occurs, in the title or first message, or with `in: "all"` in
 * any turn. Those with all words in their title come first, then the best, and of equal ones the most recently updated. What the caller may not
 * see is taken out before anything is counted.
 * @see the seed, "coding_search_sessions"
 */
export function createSearch(deps: SearchDeps): (input: SearchInput, caller: Caller) => Promise<SearchOutput> {
  const { catalog, pages, visibleDirs, templates } = deps;
  return async (input, caller) => {
    const terms = termsOf(input.query);
    const agents = agentsOf(templates, input.agent);
    await catalog.firstPage(firstPageMs);
    const reader = await catalog.database();
    const dirs = await sessionDirs(reader);
    const visible = await visibleDirs.among(dirs, caller, input.dir);
    const indexing = catalog.indexing();
    const filter = { agents, dirs: visible.size === dirs.length ? null : visible };
    const found = await find(reader, { terms, where: input.in ?? "title", filter });
    const { limit = defaultLimit, offset = 0 } = input;
    const page = found.toSorted(byFit).slice(offset, offset + limit);
    const [summaries, matches] = await Promise.all([
      pages.summaries(page, await pages.alive()),
      matchesFor(reader, page, terms),
    ]);
    const matchOf = new Map(page.map(({ agent, sessionId }, at) => [`${agent} ${sessionId}`, matches[at]]));
    const sessions = summaries.flatMap((summary) => {
      const match = matchOf.get(`${summary.agent} ${summary.sessionId}`);
      return match === undefined ? [] : [{ ...summary, match }];
    });
    const total = found.length;
    return { sessions, total, limit, offset, hasMore: offset + page.length < total, indexing };
  };
}

/** @throws PosternError `invalid_request` when there is nothing to search for */
function termsOf(query: string): readonly QueryTerm[] {
  const terms = parseQuery(query);
  if (terms.length > 0) return terms;
  const message = `There is no word in the query ${JSON.stringify(query)}. Give at least one letter, digit or emoji to search for.`;
  throw codingError("invalid_request", message);
}

async function find(
  reader: Reader,
  {
    terms,
    where,
    filter,
  }: {
    readonly terms: readonly QueryTerm[];
    readonly where: "title" | "all";
    readonly filter: FoundFilter;
  },
): Promise<readonly Found[]> {
  const hits = await findTranscripts(createTextStore(reader.db, reader.dialect), { terms, where });
  const hitOf = new Map(hits.map((hit) => [hit.transcriptId, hit]));
  const rows = await rowsOf(reader, [...hitOf.keys()], filter);
  const found = rows.flatMap((row): readonly Found[] => {
    const hit = hitOf.get(row.transcriptId);
    return hit === undefined ? [] : [{ ...row, ...hit, recordedTitle: null }];
  });
  const known = new Set(found.map(({ transcriptId }) => transcriptId));
  const recorded = (await recordedTitles(reader, filter))
    .filter(({ transcriptId, title }) => !known.has(transcriptId) && holdsAll(title, terms))
    .map(({ title, ...row }) => ({ ...row, inTitle: true, score: 0, partId: null, recordedTitle: title }));
  return [...found, ...recorded];
}

function holdsAll(text: string, terms: readonly QueryTerm[]): boolean {
  return new Set(findTerms(text, terms).map(({ term }) => term)).size === terms.length;
}

function byFit(one: Found, other: Found): number {
  return (
    Number(other.inTitle) - Number(one.inTitle) ||
    other.score - one.score ||
    other.updatedAt - one.updatedAt ||
    (one.sessionId < other.sessionId ? -1 : 1)
  );
}

async function matchesFor(
  reader: Reader,
  page: readonly Found[],
  terms: readonly QueryTerm[],
): Promise<readonly SearchMatch[]> {
  const heads = await headsOf(
    reader,
    page.flatMap(({ transcriptId }) => transcriptId ?? []),
  );
  const none = { title: null, firstMessage: null };
  const hits = page.map((found) => {
    const head = found.transcriptId === null ? none : (heads.get(found.transcriptId) ?? none);
    return { ...found, ...head, title: head.title ?? found.recordedTitle };
  });
  return matchesOf(createTextStore(reader.db, reader.dialect), hits, terms);
}
