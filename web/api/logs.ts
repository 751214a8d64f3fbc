import {
  hashKey,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import type { z } from "zod";
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
import { type ApiCall, callApi } from "./client.ts";
import { queryKeys, useAct } from "./query.ts";

export type LogFilters = Pick<ListLogsInput, "source" | "status" | "sessionId">;

const pageSize = 50;
/** The best hits; other words find others. */
const searchLimit = 100;
/** As many as one answer holds. */
const mostEntries = 200;
/** An entry waits for seconds, if at all. */
const pendingPollMs = 2_000;

/** What an infinite query needs of a list whose pages follow each other by a cursor. */
function cursorPages<Page extends { readonly nextCursor: string | null }>(
  path: string,
  page: z.ZodType<Page>,
  query: NonNullable<ApiCall["query"]>,
) {
  return {
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }: { readonly pageParam: string; readonly signal: AbortSignal }) =>
      callApi(path, page, { query: { ...query, cursor: pageParam === "" ? undefined : pageParam }, signal }),
    getNextPageParam: ({ nextCursor }: Page) => nextCursor,
  };
}

/** Entries of the memory, the newest first, page by page. */
export function useLogs(filters: LogFilters) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "logs", filters],
    ...cursorPages("/api/v1/logs", logPageSchema, { ...filters, limit: pageSize }),
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.logs.some(({ status }) => status === "pending") === true ? pendingPollMs : false,
  });
}

/** Of the entries that the filters leave those in which all words occur, the best first. */
export function useLogSearch(query: string, filters: LogFilters) {
  return useQuery({
    queryKey: [...queryKeys.memory, "search", query, filters],
    enabled: query !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      callApi("/api/v1/search", logSearchSchema, { query: { q: query, ...filters, limit: searchLimit }, signal }),
  });
}

/** An entry with what was derived from it. */
export function useLog(logId: string) {
  return useQuery({
    queryKey: logKey(logId),
    queryFn: ({ signal }) => callApi(pathOf(logId), logDetailSchema, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? pendingPollMs : false),
  });
}

/** What deleting an entry would remove now, and what would stay. */
export function useDeletionPreview(logId: string) {
  return useQuery({
    queryKey: previewKey(logId),
    queryFn: ({ signal }) => callApi(`${pathOf(logId)}/deletion-preview`, deletionPreviewSchema, { signal }),
    refetchOnWindowFocus: false,
    staleTime: 0,
    gcTime: 0,
  });
}

/** Deletes an entry with everything that only it said. Its page stays as it is until it calls {@link useForgetting}. */
export function useDeleteLog() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (logId: string) => callApi(pathOf(logId), logDeletionSchema, { method: "DELETE", body: { id: logId } }),
    // Also of a failure: it may be deleted, and the answer lost.
    onSettled: (_deletion, _error, logId) => forget(client, logId),
  });
}

/** Drops all that is cached of the memory, once `forgets` is true: something of it was deleted. For pages that show nothing of it. */
export function useForgetting(forgets: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (forgets) client.removeQueries({ queryKey: queryKeys.memory });
  }, [client, forgets]);
}

/** Drops what is cached of the memory; what a page needs is read again. @param butLogId whose page shows what was deleted */
function forget(client: QueryClient, butLogId?: string): void {
  client.removeQueries({ queryKey: queryKeys.memory, type: "inactive" });
  const own = butLogId === undefined ? [] : [logKey(butLogId), previewKey(butLogId)].map(hashKey);
  // Its failures are the pages' own, which show them.
  void client.resetQueries({ queryKey: queryKeys.memory, predicate: ({ queryHash }) => !own.includes(queryHash) });
}

/** All that is remembered of a session; so many entries that one answer holds, and whether there are more. */
export function useSessionEntries(sessionId: string) {
  return useQuery({
    queryKey: [...queryKeys.memory, "session", sessionId],
    staleTime: 0,
    queryFn: ({ signal }) =>
      callApi("/api/v1/logs", logPageSchema, { query: { sessionId, limit: mostEntries }, signal }),
  });
}

/** Deletes all that is remembered of a session, in one step. */
export function useDeleteSessionLogs() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (sessionId: string) =>
      callApi("/api/v1/logs", sessionLogDeletionSchema, { method: "DELETE", query: { sessionId, confirm: "true" } }),
    // Also of a failure: it may be deleted, and the answer lost.
    onSettled: () => forget(client),
  });
}

/** Remembers those turns of a session that are not remembered yet, also what was deleted before. */
export function useRecordSession() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (sessionId: string) =>
      callApi(`/api/v1/sessions/${encodeURIComponent(sessionId)}/record`, sessionRecordedSchema, { method: "POST" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.memory }),
  });
}

/** Writes a note into the memory; with the same key once, however often it is sent. */
export function useSubmitLog() {
  const client = useQueryClient();
  return useAct({
    mutationFn: ({ note, key }: { readonly note: SubmitLogInput; readonly key: string }) =>
      callApi("/api/v1/logs", logEntrySchema, { body: note, headers: { "idempotency-key": key } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.memory }),
  });
}

/** Things that the memory knows of, by their names. */
export function useEntities({ type, q }: { readonly type: EntityType | ""; readonly q: string }) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "entities", type, q],
    ...cursorPages("/api/v1/entities", entityPageSchema, {
      type: type === "" ? undefined : type,
      q: q === "" ? undefined : q,
      limit: pageSize,
    }),
  });
}

/** Every fact about a thing, the newest first; with `asOf` those that held then. */
export function useTimeline(entityId: string, asOf: string | undefined, { enabled = true } = {}) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "timeline", entityId, asOf],
    enabled,
    ...cursorPages(`/api/v1/entities/${encodeURIComponent(entityId)}/timeline`, factPageSchema, {
      asOf,
      limit: mostEntries,
    }),
  });
}

/** What the sessions of the newest entries are called, by their ids. */
export function useSessionTitles(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: [...queryKeys.memory, "titles"],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await callApi("/api/v1/logs", logPageSchema, { query: { source: "session", limit: mostEntries }, signal })).logs,
    select: titlesOf,
  });
  return data ?? noTitles;
}

const noTitles: ReadonlyMap<string, string> = new Map();

function titlesOf(logs: LogPage["logs"]): ReadonlyMap<string, string> {
  const named = logs.flatMap(({ sessionId, title }) =>
    sessionId === null || title === null || title.trim() === "" ? [] : [[sessionId, title] as const],
  );
  // The newest entry of a session comes first, and its title counts.
  return new Map(named.toReversed());
}

function logKey(logId: string): readonly string[] {
  return [...queryKeys.memory, "log", logId];
}

function previewKey(logId: string): readonly string[] {
  return [...queryKeys.memory, "deletion-preview", logId];
}

function pathOf(logId: string): string {
  return `/api/v1/logs/${encodeURIComponent(logId)}`;
}
