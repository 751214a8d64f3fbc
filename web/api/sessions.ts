import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { SessionStatus, SessionSummary } from "../../src/wire/coding.ts";
import { listOutputSchema, type SearchMatch, searchOutputSchema } from "../../src/wire/session-lists.ts";
import { callTool } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

/** Which sessions to list. Empty texts are no limit. */
export interface SessionFilters {
  readonly agent: string;
  readonly dir: string;
  readonly status: SessionStatus | "";
}

export const noFilters: SessionFilters = { agent: "", dir: "", status: "" };

/** A session in a list; with a search, where it was found. */
export interface ListedSession {
  readonly session: SessionSummary;
  readonly match: SearchMatch | null;
}

/** A page of a list. */
export interface SessionPage {
  readonly listed: readonly ListedSession[];
  readonly total: number;
  readonly nextOffset: number | null;
  /** How far the catalog of old transcripts is, while it is not complete. */
  readonly indexing: { readonly done: number; readonly total: number } | null;
}

export type SessionPages = InfiniteData<SessionPage>;

const pageSize = 40;
/** More live sessions than the gateway allows by default, many times over. */
const maxLive = 200;
/** While the catalog is still being made, what it finds is worth another look. */
const indexingPollMs = 2_000;

/** All sessions, most recent first, page by page. */
export function useSessionList(filters: SessionFilters, { enabled = true } = {}) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.sessionLists, "list", filters],
    enabled,
    initialPageParam: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }): Promise<SessionPage> => {
      const input = { ...given(filters), limit: pageSize, offset: pageParam };
      const page = await callTool("coding_list_sessions", listOutputSchema, { input, signal });
      const listed = page.sessions.map((session) => ({ session, match: null }));
      return toPage(page, { listed, offset: pageParam });
    },
    getNextPageParam: (last) => last.nextOffset,
    refetchInterval: ({ state }) => (state.data?.pages[0]?.indexing == null ? false : indexingPollMs),
  });
}

/** Sessions by words of their title and first message, or of all their turns; the best first. */
export function useSessionSearch(
  search: { readonly query: string; readonly everywhere: boolean },
  filters: SessionFilters,
) {
  const { query, everywhere } = search;
  return useInfiniteQuery({
    queryKey: [...queryKeys.sessionLists, "search", query, everywhere, filters],
    enabled: query !== "",
    initialPageParam: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }): Promise<SessionPage> => {
      const { status: _status, ...rest } = given(filters);
      const input = { query, in: everywhere ? "all" : "title", ...rest, limit: pageSize, offset: pageParam };
      const page = await callTool("coding_search_sessions", searchOutputSchema, { input, signal });
      const listed = page.sessions
        .map(({ match, ...session }) => ({ session, match }))
        // The search itself knows no status.
        .filter(({ session }) => filters.status === "" || session.status === filters.status);
      return toPage(page, { listed, offset: pageParam });
    },
    getNextPageParam: (last) => last.nextOffset,
  });
}

/** The sessions whose agents have a process now. */
export function useLiveSessions(filters: SessionFilters = noFilters, { enabled = true } = {}) {
  return useQuery({
    queryKey: [...queryKeys.sessionLists, "live", filters],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const ofStatus = (status: SessionStatus) =>
        callTool("coding_list_sessions", listOutputSchema, {
          input: { ...given(filters), status, limit: maxLive },
          signal,
        });
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

function toPage(
  page: Pick<SessionPage, "total" | "indexing"> & { readonly hasMore: boolean; readonly sessions: readonly unknown[] },
  { listed, offset }: { readonly listed: readonly ListedSession[]; readonly offset: number },
): SessionPage {
  const nextOffset = page.hasMore && page.sessions.length > 0 ? offset + page.sessions.length : null;
  return { listed, total: page.total, nextOffset, indexing: page.indexing };
}
