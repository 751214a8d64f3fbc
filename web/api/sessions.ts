import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import type { SessionStatus, SessionSummary } from "../../src/wire/coding.ts";
import { listOutputSchema, type SearchMatch, searchOutputSchema } from "../../src/wire/session-lists.ts";
import { labelListSchema } from "../../src/wire/session-notes.ts";
import { reading } from "./client.ts";
import { queryKeys, useRead } from "./query.ts";

/** Empty strings do not filter. */
export interface SessionFilters {
  readonly agent: string;
  readonly dir: string;
  readonly status: SessionStatus | "";
  readonly label: string;
  /** Empty: sessions that are not archived; in a search, all. */
  readonly show: "" | "pinned" | "archived";
}

export const noFilters: SessionFilters = { agent: "", dir: "", status: "", label: "", show: "" };

/** A listed session and, in a search, where it matched. */
export interface ListedSession {
  readonly session: SessionSummary;
  readonly match: SearchMatch | null;
  /** The group in a grouped list; null for sessions without a label. */
  readonly group?: string | null | undefined;
}

export interface SessionPage {
  readonly listed: readonly ListedSession[];
  readonly total: number;
  /** Progress of indexing old transcripts, until complete. */
  readonly indexing: { readonly done: number; readonly total: number } | null;
}

export const sessionGroups = ["day", "folder", "agent", "label"] as const;
export type SessionGroup = (typeof sessionGroups)[number];

/** What a list shows: all sessions, or the matches of a query, best first. */
export interface SessionsAsked {
  readonly query: string;
  /** Search the text of all turns, not only titles and first messages. */
  readonly everywhere: boolean;
  /** How a list without a query is grouped. */
  readonly group: SessionGroup | "";
  readonly filters: SessionFilters;
}

export const sessionPageSize = 40;
/** Many times the default limit on the running sessions of a gateway. */
const maxLive = 200;
/** The list grows while old transcripts are indexed. */
const indexingPollMs = 2_000;

/** One page of a list of sessions, from 0. Each page has its own query, so an event is as cheap for a long list as for a short one. */
export function useSessionPage(asked: SessionsAsked, page: number, { enabled = true } = {}) {
  return useQuery({
    ...sessionPageQuery(asked, page),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (page > 0 || state.data?.indexing == null ? false : indexingPollMs),
  });
}

export function sessionPageQuery(asked: SessionsAsked, page: number) {
  const { query, everywhere, filters, group } = asked;
  const kind = query === "" ? ["list", ordersBy(group)] : ["search", query, everywhere];
  return queryOptions({
    queryKey: [...queryKeys.sessionLists, ...kind, filters, page],
    queryFn: ({ signal }) => readPage(asked, page, signal),
  });
}

async function readPage(asked: SessionsAsked, page: number, signal: AbortSignal): Promise<SessionPage> {
  const { query, everywhere, filters, group } = asked;
  const place = { limit: sessionPageSize, offset: page * sessionPageSize };
  if (query === "") {
    const input = { ...given(filters), ...place, group: ordersBy(group) };
    const { sessions, total, indexing } = await reading.codingListSessions(input, { signal, output: listOutputSchema });
    return {
      listed: sessions.map(({ group: of, ...session }) => ({ session, match: null, group: of })),
      total,
      indexing,
    };
  }
  const input = { query, in: everywhere ? "all" : "title", ...given(filters), ...place } as const;
  const { sessions, total, indexing } = await reading.codingSearchSessions(input, {
    signal,
    output: searchOutputSchema,
  });
  const listed = sessions.map(({ match, ...session }) => ({ session, match }));
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

/** The order to request. A list grouped by day has the same order as a list without groups. */
function ordersBy(group: SessionGroup | ""): Exclude<SessionGroup, "day"> | undefined {
  return group === "" || group === "day" ? undefined : group;
}

/** All labels, for filters and suggestions. */
export function useLabels() {
  return useRead(queryKeys.labels, (call) => reading.listLabels({}, { ...call, output: labelsSchema }), {
    retry: false,
    staleTime: 30_000,
  });
}

const labelsSchema = labelListSchema.transform(({ labels }) => labels);

function given({ agent, dir, status, label, show }: SessionFilters) {
  return {
    ...(label === "" ? {} : { label }),
    ...(show === "pinned" && { pinned: true, archived: "any" as const }),
    ...(show === "archived" && { archived: true }),
    ...(agent === "" ? {} : { agent }),
    ...(dir === "" ? {} : { dir }),
    ...(status === "" ? {} : { status }),
  };
}
