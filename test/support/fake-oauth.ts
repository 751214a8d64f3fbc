import { PosternError } from "../../src/core/errors.ts";
import type { AddedClient } from "../../src/wire/oauth.ts";

/** Stands for the authorization server: one client at most, one app. */
export function createFakeOAuth() {
  let client: AddedClient | null = null;
  const disconnected: unknown[] = [];
  return {
    disconnected,
    clients: {
      list: async () => (client === null ? [] : [client]),
      async add(wanted: { name: string; redirectUris: string[]; confidential: boolean }) {
        const more = { clientId: "https://c.example/1", origin: "added", createdAt: "x", lastUsedAt: null } as const;
        client = { ...wanted, ...more, clientSecret: "s3cret" };
        return client;
      },
      async remove(clientId: string) {
        if (clientId !== client?.clientId) throw new PosternError("client_not_found", "There is none.");
        client = null;
      },
    },
    apps: {
      list: async (accountId: string) => [
        {
          appId: "a1",
          clientId: "c",
          name: accountId,
          host: null,
          scopes: [],
          createdAt: "x",
          lastUsedAt: null,
          expiresAt: null,
        },
      ],
      async disconnect(appId: string, decider: unknown) {
        if (appId !== "a1") throw new PosternError("app_not_found", "There is none.");
        disconnected.push(decider);
      },
    },
  };
}
