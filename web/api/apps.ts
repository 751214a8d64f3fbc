import { useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { type AddClientInput, addedClientSchema, connectedAppSchema, oauthClientSchema } from "../../src/wire/oauth.ts";
import { useAct } from "./act.ts";
import { callApi, sendApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

const appsSchema = z.object({ apps: z.array(connectedAppSchema) });
const clientsSchema = z.object({ clients: z.array(oauthClientSchema) });

/** The apps that the account let in. */
export function useApps() {
  return useQuery({
    queryKey: queryKeys.apps,
    queryFn: async ({ signal }) => (await callApi("/api/oauth/apps", appsSchema, { signal })).apps,
  });
}

export function useDisconnectApp() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (appId: string) => sendApi(`/api/oauth/apps/${encodeURIComponent(appId)}`, { method: "DELETE" }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.apps }), // also when it was gone already
  });
}

/** All clients that the authorization server knows; only for who may administer. */
export function useClients({ enabled = true } = {}) {
  return useQuery({
    queryKey: queryKeys.clients,
    enabled,
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

/** Removes a client; who it was connected for is connected no more. */
export function useRemoveClient() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (clientId: string) =>
      sendApi(`/api/oauth/clients/${encodeURIComponent(clientId)}`, { method: "DELETE" }),
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: queryKeys.clients });
      await client.invalidateQueries({ queryKey: queryKeys.apps });
    },
  });
}
