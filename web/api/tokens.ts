import { useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { createdTokenSchema, type Scope, tokenSchema } from "../../src/wire/access.ts";
import { useAct } from "./act.ts";
import { callApi, sendApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

const tokensSchema = z.object({ tokens: z.array(tokenSchema) });

/** What a new token shall be. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  readonly folders: readonly string[] | null;
}

/** The account's own tokens. */
export function useTokens() {
  return useQuery({
    queryKey: queryKeys.tokens,
    queryFn: async ({ signal }) => (await callApi("/api/tokens", tokensSchema, { signal })).tokens,
  });
}

export function useCreateToken() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (body: NewToken) => callApi("/api/tokens", createdTokenSchema, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.tokens }),
    gcTime: 0, // the token itself is in the answer: not kept longer than it is shown
  });
}

export function useRevokeToken() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (tokenId: string) => sendApi(`/api/tokens/${encodeURIComponent(tokenId)}`, { method: "DELETE" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.tokens }),
  });
}
