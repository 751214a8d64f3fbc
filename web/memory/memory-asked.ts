import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import { logSessionIdSchema, logSourceSchema, logStatusSchema } from "../../src/wire/logs.ts";
import type { LogFilters } from "../api/logs.ts";

/** What is asked of the memory. */
export interface MemoryAsked {
  readonly query: string;
  readonly filters: LogFilters;
}

/** What the page's address asks for; what it says wrongly is left out. */
export function parseMemoryAsked(params: URLSearchParams): MemoryAsked {
  const source = logSourceSchema.safeParse(params.get("source")).data;
  const status = logStatusSchema.safeParse(params.get("status")).data;
  const sessionId = logSessionIdSchema.safeParse(params.get("sessionId")).data;
  return {
    query: params.get("q")?.trim() ?? "",
    filters: {
      ...(source === undefined ? {} : { source }),
      ...(status === undefined ? {} : { status }),
      ...(sessionId === undefined ? {} : { sessionId }),
    },
  };
}

/** Parts of the address, as texts; an empty one is left out. */
export type MemoryChange = Partial<Readonly<Record<"q" | "source" | "status" | "sessionId", string>>>;

/** What the address asks for, and how to ask for something else. */
export function useMemoryAsked(): readonly [MemoryAsked, (change: MemoryChange) => void] {
  const [params, setParams] = useSearchParams();
  const asked = useMemo(() => parseMemoryAsked(params), [params]);
  const change = useCallback(
    (changes: MemoryChange) => {
      setParams(
        (before) => {
          const all = { ...Object.fromEntries(before), ...changes };
          return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
        },
        { replace: true },
      );
    },
    [setParams],
  );
  return [asked, change];
}
