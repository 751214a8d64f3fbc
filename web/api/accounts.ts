import { useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { type AddAccountInput, accountSchema, addedAccountSchema } from "../../src/wire/accounts.ts";
import { signInLinkSchema } from "../../src/wire/sign-in.ts";
import { useAct } from "./act.ts";
import { callApi, sendApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

const accountsSchema = z.object({ accounts: z.array(accountSchema) });

/** All accounts; only for who may administer. */
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

/** A new link for an account whose first one was lost, or that has another browser. */
export function useCreateAccountLink() {
  return useAct({
    mutationFn: (accountId: string) =>
      callApi(`/api/accounts/${encodeURIComponent(accountId)}/sign-in-links`, signInLinkSchema, { method: "POST" }),
    gcTime: 0,
  });
}

export function useRemoveAccount() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (accountId: string) => sendApi(`/api/accounts/${encodeURIComponent(accountId)}`, { method: "DELETE" }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.accounts }), // also when it was gone already
  });
}
