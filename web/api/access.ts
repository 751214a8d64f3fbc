import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
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
import { queryKeys, useAct, useChange, useRead, useRemove } from "./query.ts";

const accountsSchema = z.object({ accounts: z.array(accountSchema) }).transform(({ accounts }) => accounts);

export function useAccounts() {
  return useRead(queryKeys.accounts, "/api/accounts", { answer: accountsSchema });
}

export function useAddAccount() {
  // Its sign-in link is in the answer.
  return useChange(
    queryKeys.accounts,
    (body: AddAccountInput) => callApi("/api/accounts", addedAccountSchema, { body }),
    { gcTime: 0 },
  );
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

const appsSchema = z.object({ apps: z.array(connectedAppSchema) }).transform(({ apps }) => apps);
const clientsSchema = z.object({ clients: z.array(oauthClientSchema) }).transform(({ clients }) => clients);

export function useApps() {
  return useRead(queryKeys.apps, "/api/oauth/apps", { answer: appsSchema });
}

export function useDisconnectApp() {
  return useRemove("/api/oauth/apps", queryKeys.apps);
}

export function useClients() {
  return useRead(queryKeys.clients, "/api/oauth/clients", { answer: clientsSchema });
}

export function useAddClient() {
  // Its secret is in the answer: not kept longer than it is shown.
  return useChange(
    queryKeys.clients,
    (body: AddClientInput) => callApi("/api/oauth/clients", addedClientSchema, { body }),
    { gcTime: 0 },
  );
}

export function useRemoveClient() {
  return useRemove("/api/oauth/clients", queryKeys.clients, queryKeys.apps);
}

const tokensSchema = z.object({ tokens: z.array(tokenSchema) }).transform(({ tokens }) => tokens);

interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  readonly folders: readonly string[] | null;
}

export function useTokens() {
  return useRead(queryKeys.tokens, "/api/tokens", { answer: tokensSchema });
}

export function useCreateToken() {
  // The token itself is in the answer: not kept longer than it is shown.
  return useChange(queryKeys.tokens, (body: NewToken) => callApi("/api/tokens", createdTokenSchema, { body }), {
    gcTime: 0,
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
