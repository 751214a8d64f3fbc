import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import { logSessionIdSchema, logSourceSchema, logStatusSchema } from "../../src/wire/logs.ts";
import type { LogFilters } from "../api/logs.ts";

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

/** Changes parts of the page's address; an empty text takes its part away. */
export function useChangeParams<Name extends string>(): (changes: Partial<Readonly<Record<Name, string>>>) => void {
  const [, setParams] = useSearchParams();
  return useCallback(
    (changes) =>
      setParams(
        (before) =>
          Object.fromEntries(
            Object.entries<string>({ ...Object.fromEntries(before), ...changes }).filter(([, value]) => value !== ""),
          ),
        { replace: true },
      ),
    [setParams],
  );
}

/** What the address asks for, and how to ask for something else. */
export function useMemoryAsked() {
  const [params] = useSearchParams();
  const asked = useMemo(() => parseMemoryAsked(params), [params]);
  return [asked, useChangeParams<"q" | "source" | "status" | "sessionId">()] as const;
}
