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
import { acting, reading } from "./client.ts";
import { queryKeys, useAct, useChange, useRead, useRemove } from "./query.ts";

const accountsSchema = z.object({ accounts: z.array(accountSchema) }).transform(({ accounts }) => accounts);

export function useAccounts() {
  return useRead(queryKeys.accounts, (call) => reading.listAccounts({}, { ...call, output: accountsSchema }));
}

export function useAddAccount() {
  // The response contains its sign-in link.
  return useChange(
    queryKeys.accounts,
    (account: AddAccountInput) => acting.addAccount(account, { output: addedAccountSchema }),
    { gcTime: 0 },
  );
}

export function useCreateAccountLink() {
  return useAct({
    mutationFn: (accountId: string) => acting.createAccountSignInLink({ accountId }, { output: signInLinkSchema }),
    gcTime: 0,
  });
}

export function useRemoveAccount() {
  return useRemove((accountId) => acting.removeAccount({ accountId }), queryKeys.accounts);
}

const appsSchema = z.object({ apps: z.array(connectedAppSchema) }).transform(({ apps }) => apps);
const clientsSchema = z.object({ clients: z.array(oauthClientSchema) }).transform(({ clients }) => clients);

export function useApps() {
  return useRead(queryKeys.apps, (call) => reading.listConnectedApps({}, { ...call, output: appsSchema }));
}

export function useDisconnectApp() {
  return useRemove((appId) => acting.disconnectApp({ appId }), queryKeys.apps);
}

export function useClients() {
  return useRead(queryKeys.clients, (call) => reading.listOAuthClients({}, { ...call, output: clientsSchema }));
}

export function useAddClient() {
  // The response contains the app's secret, so it is not cached after it was shown.
  return useChange(
    queryKeys.clients,
    (client: AddClientInput) => acting.addOAuthClient(client, { output: addedClientSchema }),
    { gcTime: 0 },
  );
}

export function useRemoveClient() {
  return useRemove((clientId) => acting.removeOAuthClient({ clientId }), queryKeys.clients, queryKeys.apps);
}

const tokensSchema = z.object({ tokens: z.array(tokenSchema) }).transform(({ tokens }) => tokens);

interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  readonly folders: readonly string[] | null;
}

export function useTokens() {
  return useRead(queryKeys.tokens, (call) => reading.listTokens({}, { ...call, output: tokensSchema }));
}

export function useCreateToken() {
  // The response contains the token, so it is not cached after it was shown.
  return useChange(queryKeys.tokens, (token: NewToken) => acting.createToken(token, { output: createdTokenSchema }), {
    gcTime: 0,
  });
}

export function useRevokeToken() {
  return useRemove((tokenId) => acting.revokeToken({ tokenId }), queryKeys.tokens);
}

const pageSize = 50;

/** The audit log, newest first. */
export function useAudit(kind: AuditKind | null) {
  return useInfiniteQuery({
    queryKey: [...queryKeys.audit, kind],
    queryFn: ({ pageParam, signal }): Promise<AuditPage> =>
      reading.listAudit(
        { limit: pageSize, before: pageParam === "" ? undefined : pageParam, kind: kind ?? undefined },
        { signal, output: auditPageSchema },
      ),
    initialPageParam: "",
    getNextPageParam: ({ entries, hasMore }) => (hasMore ? (entries.at(-1)?.auditId ?? null) : null),
    placeholderData: keepPreviousData,
  });
}
