import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { SessionStatus, SessionSummary } from "../../src/wire/coding.ts";
import { listOutputSchema, type SearchMatch, searchOutputSchema } from "../../src/wire/session-lists.ts";
import { reading } from "./client.ts";
import { queryKeys } from "./query.ts";

/** Empty strings do not filter. */
export interface SessionFilters {
  readonly agent: string;
  readonly dir: string;
  readonly status: SessionStatus | "";
}

export const noFilters: SessionFilters = { agent: "", dir: "", status: "" };

/** A listed session and, in a search, where it matched. */
export interface ListedSession {
  readonly session: SessionSummary;
  readonly match: SearchMatch | null;
}

export interface SessionPage {
  readonly listed: readonly ListedSession[];
  readonly total: number;
  /** Progress of indexing old transcripts, until complete. */
  readonly indexing: { readonly done: number; readonly total: number } | null;
}

/** What a list shows: all sessions, or the matches of a query, best first. */
export interface SessionsAsked {
  readonly query: string;
  /** Search the text of all turns, not only titles and first messages. */
  readonly everywhere: boolean;
  readonly filters: SessionFilters;
}

export const sessionPageSize = 40;
/** Many times the gateway's default limit. */
const maxLive = 200;
/** The list grows while old transcripts are indexed. */
const indexingPollMs = 2_000;

/** One page of a list of sessions, from 0. Each page has its own query, so an event is as cheap for a long list as for a short one. */
export function useSessionPage(asked: SessionsAsked, page: number, { enabled = true } = {}) {
  const { query, everywhere, filters } = asked;
  const kind = query === "" ? ["list"] : ["search", query, everywhere];
  return useQuery({
    queryKey: [...queryKeys.sessionLists, ...kind, filters, page],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => readPage(asked, page, signal),
    refetchInterval: ({ state }) => (page > 0 || state.data?.indexing == null ? false : indexingPollMs),
  });
}

async function readPage(asked: SessionsAsked, page: number, signal: AbortSignal): Promise<SessionPage> {
  const { query, everywhere, filters } = asked;
  const place = { limit: sessionPageSize, offset: page * sessionPageSize };
  if (query === "") {
    const input = { ...given(filters), ...place };
    const { sessions, total, indexing } = await reading.codingListSessions(input, { signal, output: listOutputSchema });
    return { listed: sessions.map((session) => ({ session, match: null })), total, indexing };
  }
  const { status: _status, ...rest } = given(filters);
  const input = { query, in: everywhere ? "all" : "title", ...rest, ...place } as const;
  const { sessions, total, indexing } = await reading.codingSearchSessions(input, {
    signal,
    output: searchOutputSchema,
  });
  const listed = sessions
    .map(({ match, ...session }) => ({ session, match }))
    // The search has no status filter.
    .filter(({ session }) => filters.status === "" || session.status === filters.status);
  return { listed, total, indexing };
}

export function useLiveSessions(filters: SessionFilters = noFilters, { enabled = true } = {}) {
  return useQuery({
    queryKey: [...queryKeys.sessionLists, "live", filters],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const ofStatus = (status: SessionStatus) =>
        reading.codingListSessions({ ...given(filters), status, limit: maxLive }, { signal, output: listOutputSchema });
      const pages = await Promise.all([ofStatus("initializing"), ofStatus("running")]);
      const sessions = new Map(pages.flatMap((page) => page.sessions).map((session) => [session.sessionId, session]));
      return [...sessions.values()].toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    },
  });
}

function given({ agent, dir, status }: SessionFilters) {
  return {
    ...(agent === "" ? {} : { agent }),
    ...(dir === "" ? {} : { dir }),
    ...(status === "" ? {} : { status }),
  };
}
