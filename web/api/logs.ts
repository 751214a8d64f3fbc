import {
  hashKey,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import {
  deletionPreviewSchema,
  type EntityType,
  entityPageSchema,
  factPageSchema,
  type ListLogsInput,
  type LogPage,
  logDeletionSchema,
  logDetailSchema,
  logEntrySchema,
  logPageSchema,
  logSearchSchema,
  type SubmitLogInput,
  sessionLogDeletionSchema,
  sessionRecordedSchema,
} from "../../src/wire/logs.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useAct, useChange } from "./query.ts";

export type LogFilters = Pick<ListLogsInput, "source" | "status" | "sessionId">;

const pageSize = 50;
/** Enough to find an entry. More specific words find the others. */
const searchLimit = 100;
const mostEntries = 200;
/** Entries are pending for seconds at most. */
const pendingPollMs = 2_000;

/** Options of an infinite query over a list with cursors. */
function cursorPages<Page extends { readonly nextCursor: string | null }>(
  read: (cursor: string | undefined, call: { readonly signal: AbortSignal }) => Promise<Page>,
) {
  return {
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }: { readonly pageParam: string; readonly signal: AbortSignal }) =>
      read(pageParam === "" ? undefined : pageParam, { signal }),
    getNextPageParam: ({ nextCursor }: Page) => nextCursor,
  };
}

export function useLogs(filters: LogFilters) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "logs", filters],
    ...cursorPages((cursor, call) =>
      reading.listLogs({ ...filters, cursor, limit: pageSize }, { ...call, output: logPageSchema }),
    ),
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.logs.some(({ status }) => status === "pending") === true ? pendingPollMs : false,
  });
}

export function useLogSearch(query: string, filters: LogFilters) {
  return useQuery({
    queryKey: [...queryKeys.memory, "search", query, filters],
    enabled: query !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      reading.searchLogs({ q: query, ...filters, limit: searchLimit }, { signal, output: logSearchSchema }),
  });
}

export function useLog(logId: string) {
  return useQuery({
    queryKey: logKey(logId),
    queryFn: ({ signal }) => reading.readLog({ logId }, { signal, output: logDetailSchema }),
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? pendingPollMs : false),
  });
}

export function useDeletionPreview(logId: string) {
  return useQuery({
    queryKey: previewKey(logId),
    queryFn: ({ signal }) => reading.previewLogDeletion({ logId }, { signal, output: deletionPreviewSchema }),
    refetchOnWindowFocus: false,
    staleTime: 0,
    gcTime: 0,
  });
}

/** Deletes an entry and the facts found only in it. The entry's page stays cached until that page calls {@link useForgetting}. */
export function useDeleteLog() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (logId: string) => acting.deleteLog({ logId, id: logId }, { output: logDeletionSchema }),
    // On failure too, because the entry may be deleted and the response lost.
    onSettled: (_deletion, _error, logId) => forget(client, logId),
  });
}

/** Clears the cached memory after a deletion. For pages that show no memory. */
export function useForgetting(forgets: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (forgets) client.removeQueries({ queryKey: queryKeys.memory });
  }, [client, forgets]);
}

/** Clears the cached memory, except what the page of the entry `butLogId` shows. */
function forget(client: QueryClient, butLogId?: string): void {
  client.removeQueries({ queryKey: queryKeys.memory, type: "inactive" });
  const own = butLogId === undefined ? [] : [logKey(butLogId), previewKey(butLogId)].map(hashKey);
  // Pages report their failures themselves.
  void client.resetQueries({ queryKey: queryKeys.memory, predicate: ({ queryHash }) => !own.includes(queryHash) });
}

/** The first page of a session's entries. */
export function useSessionEntries(sessionId: string) {
  return useQuery({
    queryKey: [...queryKeys.memory, "session", sessionId],
    staleTime: 0,
    queryFn: ({ signal }) => reading.listLogs({ sessionId, limit: mostEntries }, { signal, output: logPageSchema }),
  });
}

export function useDeleteSessionLogs() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (sessionId: string) =>
      acting.deleteSessionLogs({ sessionId, confirm: "true" }, { output: sessionLogDeletionSchema }),
    // On failure too, because the entries may be deleted and the response lost.
    onSettled: () => forget(client),
  });
}

/** Saves the turns of a session that are not in memory, including deleted ones. */
export function useRecordSession() {
  return useChange(queryKeys.memory, (sessionId: string) =>
    acting.recordSession({ sessionId }, { output: sessionRecordedSchema }),
  );
}

/** Saves a note. The idempotency key makes retries safe. */
export function useSubmitLog() {
  return useChange(queryKeys.memory, ({ note, key }: { readonly note: SubmitLogInput; readonly key: string }) =>
    acting.submitLog(note, { output: logEntrySchema, headers: { "idempotency-key": key } }),
  );
}

/** Topics in memory, by name. */
export function useEntities({ type, q }: { readonly type: EntityType | ""; readonly q: string }) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "entities", type, q],
    ...cursorPages((cursor, call) =>
      reading.listEntities(
        { type: type === "" ? undefined : type, q: q === "" ? undefined : q, cursor, limit: pageSize },
        { ...call, output: entityPageSchema },
      ),
    ),
  });
}

/** The facts about a topic, newest first; with `asOf`, those valid at that time. */
export function useTimeline(entityId: string, asOf: string | undefined, { enabled = true } = {}) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "timeline", entityId, asOf],
    enabled,
    ...cursorPages((cursor, call) =>
      reading.entityTimeline({ entityId, asOf, cursor, limit: mostEntries }, { ...call, output: factPageSchema }),
    ),
  });
}

/** Titles of the sessions with the newest entries, by session id. */
export function useSessionTitles(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: [...queryKeys.memory, "titles"],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await reading.listLogs({ source: "session", limit: mostEntries }, { signal, output: logPageSchema })).logs,
    select: titlesOf,
  });
  return data ?? noTitles;
}

const noTitles: ReadonlyMap<string, string> = new Map();

function titlesOf(logs: LogPage["logs"]): ReadonlyMap<string, string> {
  const named = logs.flatMap(({ sessionId, title }) =>
    sessionId === null || title === null || title.trim() === "" ? [] : [[sessionId, title] as const],
  );
  // The newest entry comes first, so its title is used.
  return new Map(named.toReversed());
}

function logKey(logId: string): readonly string[] {
  return [...queryKeys.memory, "log", logId];
}

function previewKey(logId: string): readonly string[] {
  return [...queryKeys.memory, "deletion-preview", logId];
}
