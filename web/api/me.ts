import { useQuery } from "@tanstack/react-query";
import type { Scope } from "../../src/wire/access.ts";
import { type Me, meSchema } from "../../src/wire/sign-in.ts";
import { callApi } from "./client.ts";
import { queryKeys } from "./query.ts";

/** Who is signed in here. */
export function useMe() {
  return useQuery({
    queryKey: queryKeys.me,
    queryFn: ({ signal }) => callApi("/api/me", meSchema, { signal }),
    staleTime: 60_000,
  });
}

/** Whether the signed-in account may do what needs `scope`; true while that is not known, and then the gateway says it. */
export function useMay(scope: Scope): boolean {
  const { data } = useMe();
  return data === undefined || may(data, scope);
}

export function may(me: Me, scope: Scope): boolean {
  return me.scopes.includes(scope);
}
