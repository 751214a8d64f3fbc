import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import { sessionStatusSchema } from "../../src/wire/coding.ts";
import type { SessionFilters, SessionsAsked } from "../api/sessions.ts";

/** What the page's address asks for, so that a list can be kept, shared and gone back to. */
export function parseAsked(params: URLSearchParams): SessionsAsked {
  const status = sessionStatusSchema.safeParse(params.get("status"));
  return {
    query: params.get("q")?.trim() ?? "",
    everywhere: params.get("in") === "all",
    filters: {
      agent: params.get("agent") ?? "",
      dir: params.get("dir") ?? "",
      status: status.success ? status.data : "",
    },
  };
}

/** The same as an address has it. */
export function formatAsked({ query, everywhere, filters }: SessionsAsked): Record<string, string> {
  const { agent, dir, status } = filters;
  const all = { q: query, in: everywhere ? "all" : "", agent, dir, status };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

/** What the address asks for, and how to ask for something else. */
export function useAsked(): readonly [
  SessionsAsked,
  (changes: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => void,
] {
  const [params, setParams] = useSearchParams();
  const asked = useMemo(() => parseAsked(params), [params]);
  const change = useCallback(
    ({ query, everywhere, ...filters }: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => {
      setParams(
        (before) => {
          const was = parseAsked(before);
          return formatAsked({
            query: query ?? was.query,
            everywhere: everywhere ?? was.everywhere,
            filters: { ...was.filters, ...filters },
          });
        },
        { replace: true },
      );
    },
    [setParams],
  );
  return [asked, change];
}
