import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { type AuditKind, type AuditPage, auditPageSchema } from "../../src/wire/accounts.ts";
import { callApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

const pageSize = 50;

/** Who did what, the newest first, a page at a time; only for who may administer. */
export function useAudit(kind: AuditKind | null) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.audit, kind],
    queryFn: ({ pageParam, signal }): Promise<AuditPage> =>
      callApi("/api/audit", auditPageSchema, {
        query: { limit: pageSize, before: pageParam === "" ? undefined : pageParam, kind: kind ?? undefined },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: ({ entries, hasMore }) => (hasMore ? (entries.at(-1)?.auditId ?? null) : null),
    placeholderData: keepPreviousData,
  });
}
