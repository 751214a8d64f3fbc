import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { createdTokenSchema, type Scope, tokenSchema } from "../../src/wire/access.ts";
import {
  type AddAccountInput,
  type AuditKind,
  type AuditPage,
  accountSchema,
  addedAccountSchema,
  auditPageSchema,
} from "../../src/wire/accounts.ts";
import { type AddClientInput, addedClientSchema, connectedAppSchema, oauthClientSchema } from "../../src/wire/oauth.ts";
import { signInLinkSchema } from "../../src/wire/sign-in.ts";
import { callApi } from "./client.ts";
import { queryKeys, useAct, useRemove } from "./query.ts";

const accountsSchema = z.object({ accounts: z.array(accountSchema) });

export function useAccounts() {
  return useQuery({
    queryKey: queryKeys.accounts,
    queryFn: async ({ signal }) => (await callApi("/api/accounts", accountsSchema, { signal })).accounts,
  });
}

export function useAddAccount() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (body: AddAccountInput) => callApi("/api/accounts", addedAccountSchema, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.accounts }),
    gcTime: 0, // its sign-in link is in the answer
  });
}

export function useCreateAccountLink() {
  return useAct({
    mutationFn: (accountId: string) =>
      callApi(`/api/accounts/${encodeURIComponent(accountId)}/sign-in-links`, signInLinkSchema, { method: "POST" }),
    gcTime: 0,
  });
}

export function useRemoveAccount() {
  return useRemove("/api/accounts", queryKeys.accounts);
}

const appsSchema = z.object({ apps: z.array(connectedAppSchema) });
const clientsSchema = z.object({ clients: z.array(oauthClientSchema) });

export function useApps() {
  return useQuery({
    queryKey: queryKeys.apps,
    queryFn: async ({ signal }) => (await callApi("/api/oauth/apps", appsSchema, { signal })).apps,
  });
}

export function useDisconnectApp() {
  return useRemove("/api/oauth/apps", queryKeys.apps);
}

export function useClients() {
  return useQuery({
    queryKey: queryKeys.clients,
    queryFn: async ({ signal }) => (await callApi("/api/oauth/clients", clientsSchema, { signal })).clients,
  });
}

export function useAddClient() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (body: AddClientInput) => callApi("/api/oauth/clients", addedClientSchema, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.clients }),
    gcTime: 0, // its secret is in the answer: not kept longer than it is shown
  });
}

export function useRemoveClient() {
  return useRemove("/api/oauth/clients", queryKeys.clients, queryKeys.apps);
}

const tokensSchema = z.object({ tokens: z.array(tokenSchema) });

interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  readonly folders: readonly string[] | null;
}

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
  return useRemove("/api/tokens", queryKeys.tokens);
}

const pageSize = 50;

/** The audit log, newest first. */
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
