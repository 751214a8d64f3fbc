import {
  createTextStore,
  type FoundFilter,
  findTerms,
  findTranscripts,
  type HeadText,
  type Hit,
  matchesOf,
  notedTitles,
  parseQuery,
  type QueryTerm,
  type RecordedTitle,
  recordedTitles,
  sessionsOf,
  wantedAmong,
} from "../catalog/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { SearchInput, SearchOutput } from "../wire/session-lists.ts";
import { sessionError } from "./errors.ts";
import { type CatalogView, type CatalogViewDeps, notedFilter, viewCatalog } from "./list.ts";

const defaultLimit = 10;
/** The store is searched for each term, and every result is checked for all terms. */
const maxTerms = 32;

/** A session that was found, and how well it matches. */
type Found = Omit<Hit, "transcriptId"> & { readonly updatedAt: number } & (
    | { readonly transcriptId: number; readonly recorded: null }
    /** Found by its recorded title: it has no transcript, or one without a title. */
    | { readonly transcriptId: number | null; readonly recorded: RecordedTitle }
  );

type Reader = CatalogView["reader"];

/**
 * `coding_search_sessions`: the sessions in which every word of the query occurs, in the title or first message, or with `in: "all"` in
 * any turn. Those with all words in their title come first, then the best matches, and among equals the most recently updated. Sessions
 * that the caller cannot see are removed before counting.
 * @see the specification, "coding_search_sessions"
 */
export function createSearch(deps: CatalogViewDeps): (input: SearchInput, caller: Caller) => Promise<SearchOutput> {
  return async (input, caller) => {
    const terms = termsOf(input.query);
    const { reader, agents, dirs, alive, indexing } = await viewCatalog(deps, input, caller);
    const filter = {
      agents,
      dirs,
      noted: notedFilter(input, alive, "any"),
      status: input.status ?? null,
      alive,
      partial: indexing !== null,
    };
    const found = await find(reader, { terms, where: input.in ?? "title", filter });
    const { limit = defaultLimit, offset = 0 } = input;
    const page = await shown(reader, found.toSorted(byFit).slice(offset, offset + limit));
    const matches = await matchesOf(createTextStore(reader.db, reader.dialect), page, terms);
    const matchOf = new Map(page.map(({ agent, sessionId }, at) => [`${agent} ${sessionId}`, matches[at]]));
    const summaries = await deps.pages.summaries(page, alive, caller.accountId);
    const sessions = summaries.flatMap((summary) => {
      const match = matchOf.get(`${summary.agent} ${summary.sessionId}`);
      return match === undefined ? [] : [{ ...summary, match }];
    });
    const total = found.length;
    return { sessions, total, limit, offset, hasMore: offset + page.length < total, indexing };
  };
}

/** @throws PosternError `invalid_request` when there is nothing to search for, or too much */
function termsOf(query: string): readonly QueryTerm[] {
  const terms = parseQuery(query);
  if (terms.length > maxTerms) {
    const message = `The query has ${terms.length} different words and phrases; the maximum is ${maxTerms}. Remove some, or put phrases in quotes.`;
    throw sessionError("invalid_request", message);
  }
  if (terms.length > 0) return terms;
  const message = `The query ${JSON.stringify(query)} contains no word. Enter at least one letter, digit or emoji.`;
  throw sessionError("invalid_request", message);
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
  const ids = hits.map(({ transcriptId }) => transcriptId);
  const wanted = await wantedAmong(reader, ids, filter);
  const noted = await notedTitles(reader, filter);
  const renamed = noted.filter(({ title }) => holdsAll(title, terms));
  const isRenamed = new Set(renamed.map(({ agent, sessionId }) => `${agent} ${sessionId}`));
  const inNewTitle = new Set(renamed.map(({ transcriptId }) => transcriptId));
  const found = hits.flatMap((hit): readonly Found[] => {
    const updatedAt = wanted.get(hit.transcriptId);
    return updatedAt === undefined || inNewTitle.has(hit.transcriptId) ? [] : [{ ...hit, updatedAt, recorded: null }];
  });
  const recorded = (await recordedTitles(reader, filter))
    .filter(({ transcriptId, title }) => !wanted.has(transcriptId ?? -1) && holdsAll(title, terms))
    .filter(({ agent, sessionId }) => !isRenamed.has(`${agent} ${sessionId}`));
  return [...found, ...[...recorded, ...renamed].map(byTitle)];
}

function byTitle(recorded: RecordedTitle): Found {
  const { transcriptId, updatedAt } = recorded;
  return { transcriptId, updatedAt, inTitle: true, score: 0, partId: null, recorded };
}

function holdsAll(text: string, terms: readonly QueryTerm[]): boolean {
  return new Set(findTerms(text, terms).map(({ term }) => term)).size === terms.length;
}

function byFit(one: Found, other: Found): number {
  return (
    Number(other.inTitle) - Number(one.inTitle) ||
    other.score - one.score ||
    other.updatedAt - one.updatedAt ||
    (other.transcriptId ?? 0) - (one.transcriptId ?? 0)
  );
}

/** The data that a page shows about its sessions. */
async function shown(reader: Reader, page: readonly Found[]): Promise<readonly Shown[]> {
  const sessions = await sessionsOf(
    reader,
    page.flatMap(({ transcriptId }) => transcriptId ?? []),
  );
  return page.flatMap((found): readonly Shown[] => {
    const { transcriptId, inTitle, partId, recorded } = found;
    const session = transcriptId === null ? undefined : sessions.get(transcriptId);
    const named = recorded ?? session;
    if (named === undefined) return []; // it was removed while we looked
    const title = recorded?.title ?? session?.head.title ?? null;
    const { sessionId, agent } = named;
    return [
      { sessionId, agent, transcriptId, inTitle, partId, title, firstMessage: session?.head.firstMessage ?? null },
    ];
  });
}

type Shown = Pick<Hit, "inTitle" | "partId"> &
  HeadText & { readonly sessionId: string; readonly agent: string; readonly transcriptId: number | null };
