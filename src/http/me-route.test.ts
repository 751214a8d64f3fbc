import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { meSchema } from "../wire/sign-in.ts";
import { signInRoutes } from "./index.ts";

test("a caller gets its identity: an app its connection, a token its expiry if it has one", async () => {
  const gateway = { id: "g", version: "1.2.3", baseUrl: "http://localhost:7177" };
  const server = await startHttpServer(({ accounts }) => [signInRoutes({ accounts, gateway: () => gateway })]);
  const { accountId } = await server.accounts.owner();
  const expiresAt = Date.now() + 60_000;
  const ask = async (token: string) => {
    const answer = await fetch(`${server.url}/api/me`, { headers: { authorization: `Bearer ${token}` } });
    return meSchema.parse(await answer.json());
  };
  const { token: ofApp, issued } = server.apps.issue({ accountId, scopes: ["coding:read", "admin"] });
  expect(await ask(ofApp)).toMatchObject({
    kind: "app",
    app: { clientId: "client", appId: "app" },
    scopes: ["coding:read"],
    expiresAt: new Date(issued.expiresAt).toISOString(),
  });
  const wanted = { name: "short", scopes: ["coding:read"], expiresAt, folders: null } as const;
  const { token: short } = await server.accounts.tokens.create(accountId, wanted);
  expect(await ask(short)).toMatchObject({ kind: "token", app: null, expiresAt: new Date(expiresAt).toISOString() });
  expect(await ask(await server.token("logs:read"))).toMatchObject({ kind: "token", app: null, expiresAt: null });
});
