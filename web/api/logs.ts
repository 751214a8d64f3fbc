import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
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
import { callApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

/** Which entries to list. */
export type LogFilters = Pick<ListLogsInput, "source" | "status" | "sessionId">;

const pageSize = 50;
/** The best of what was found; who wants others writes other words. */
const searchLimit = 100;
/** As many as one answer holds. */
const mostEntries = 200;
/** An entry waits for seconds, if at all. */
const pendingPollMs = 2_000;

/** Entries of the memory, the newest first, page by page. */
export function useLogs(filters: LogFilters, { enabled = true } = {}) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "logs", filters],
    enabled,
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }): Promise<LogPage> =>
      callApi("/api/v1/logs", logPageSchema, {
        query: { ...filters, limit: pageSize, cursor: pageParam === "" ? undefined : pageParam },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.logs.some(({ status }) => status === "pending") === true ? pendingPollMs : false,
  });
}

/** Entries in which all words occur, the best first. */
export function useLogSearch(query: string) {
  return useQuery({
    queryKey: [...queryKeys.memory, "search", query],
    enabled: query !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      callApi("/api/v1/search", logSearchSchema, { query: { q: query, limit: searchLimit }, signal }),
  });
}

/** An entry with what was derived from it. */
export function useLog(logId: string, { enabled = true } = {}) {
  return useQuery({
    queryKey: [...queryKeys.memory, "log", logId],
    enabled,
    queryFn: ({ signal }) => callApi(pathOf(logId), logDetailSchema, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? pendingPollMs : false),
  });
}

/** What deleting an entry would remove now, and what would stay. */
export function useDeletionPreview(logId: string) {
  return useQuery({
    queryKey: [...queryKeys.memory, "deletion-preview", logId],
    queryFn: ({ signal }) => callApi(`${pathOf(logId)}/deletion-preview`, deletionPreviewSchema, { signal }),
    refetchOnWindowFocus: false,
    staleTime: 0,
    gcTime: 0,
  });
}

/** Deletes an entry with everything that only it said. Whoever shows what came of it calls {@link useForgetting}. */
export function useDeleteLog() {
  return useMutation({
    mutationFn: (logId: string) => callApi(pathOf(logId), logDeletionSchema, { method: "DELETE", body: { id: logId } }),
  });
}

/** Lets go of all that pages keep of the memory: something of it was deleted. */
export function useForgetting(): void {
  const client = useQueryClient();
  useEffect(() => client.removeQueries({ queryKey: queryKeys.memory }), [client]);
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
  return useMutation({
    mutationFn: (sessionId: string) =>
      callApi("/api/v1/logs", sessionLogDeletionSchema, { method: "DELETE", query: { sessionId, confirm: "true" } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.memory }),
  });
}

/** Remembers those turns of a session that are not remembered yet, also what was deleted before. */
export function useRecordSession() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (sessionId: string) =>
      callApi(`/api/v1/sessions/${encodeURIComponent(sessionId)}/record`, sessionRecordedSchema, { method: "POST" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.memory }),
  });
}

/** Writes a note into the memory. */
export function useSubmitLog() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: SubmitLogInput) => callApi("/api/v1/logs", logEntrySchema, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.memory }),
  });
}

/** Things that the memory knows of, by their names. */
export function useEntities({ type, q }: { readonly type: EntityType | ""; readonly q: string }) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "entities", type, q],
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) =>
      callApi("/api/v1/entities", entityPageSchema, {
        query: {
          type: type === "" ? undefined : type,
          q: q === "" ? undefined : q,
          limit: pageSize,
          cursor: pageParam === "" ? undefined : pageParam,
        },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** Every fact about a thing, the newest first; with `asOf` those that held then. */
export function useTimeline(entityId: string, asOf: string | undefined, { enabled = true } = {}) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.memory, "timeline", entityId, asOf],
    enabled,
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) =>
      callApi(`/api/v1/entities/${encodeURIComponent(entityId)}/timeline`, factPageSchema, {
        query: { asOf, limit: mostEntries, cursor: pageParam === "" ? undefined : pageParam },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
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

function pathOf(logId: string): string {
  return `/api/v1/logs/${encodeURIComponent(logId)}`;
}
