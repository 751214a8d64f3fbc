import { decodeJwt } from "jose";
import { expect, test } from "vitest";
import { startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { lifetimes } from "./lifetimes.ts";

const minuteMs = 60_000;

describeOnBothStores("access tokens", (openStore) => {
  for (const accessTokens of ["opaque", "jwt"] as const) {
    test(`that are ${accessTokens} identify their account, can be looked up again, and expire`, async () => {
      const clock = createFakeClock(Date.now());
      const server = await startAuthorizationServer(await openStore(), { clock, config: { accessTokens } });
      const clientId = await server.newClient();
      const { accessToken } = await server.letIn(clientId, {
        scope: "logs:read coding:drive",
        resource: `${server.baseUrl}/mcp/`,
      });
      const { tokens } = server.oauth;
      const found = await tokens.find(accessToken);
      expect(found).toMatchObject({
        accountId: server.owner.accountId,
        app: { clientId, appId: expect.any(String) },
        scopes: new Set(["coding:drive", "logs:read"]),
        resource: "mcp",
      });
      expect(Math.abs((found?.expiresAt ?? 0) - clock.now() - lifetimes.accessTokenMs)).toBeLessThan(2_000);
      expect(found?.tokenId).not.toContain(accessToken);
      expect(await tokens.find(found?.tokenId ?? "")).toBeNull();
      expect(await tokens.findAgain(found?.tokenId ?? "")).toEqual(found);
      await clock.advance(lifetimes.accessTokenMs + 2_000);
      expect(await tokens.find(accessToken)).toBeNull();
      expect(await tokens.findAgain(found?.tokenId ?? "")).toBeNull();
    });

    test(`that are ${accessTokens} stop working at once when their app is disconnected`, async () => {
      const server = await startAuthorizationServer(await openStore(), { config: { accessTokens } });
      const { oauth, owner } = server;
      const clientId = await server.newClient();
      const { accessToken, refreshToken } = await server.letIn(clientId);
      const found = await oauth.tokens.find(accessToken);
      const appId = found?.app.appId ?? "";
      expect(await oauth.apps.isConnected(owner.accountId, appId)).toBe(true);
      expect(await oauth.apps.isConnected("another", appId)).toBe(false);
      expect(await errorCode(oauth.apps.disconnect(appId, { ...owner, accountId: "another" }))).toBe("app_not_found");
      await oauth.apps.disconnect(appId, owner);
      expect(await oauth.tokens.find(accessToken)).toBeNull();
      expect(await oauth.tokens.findAgain(found?.tokenId ?? "")).toBeNull();
      const refresh = { grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken };
      expect(await server.post(oauthPaths.token, refresh)).toMatchObject({
        status: 400,
        body: { error: "invalid_grant" },
      });
      expect(await oauth.apps.list(owner.accountId)).toEqual([]);
      expect(await oauth.apps.isConnected(owner.accountId, appId)).toBe(false);
      expect(await errorCode(oauth.apps.disconnect(appId, owner))).toBe("app_not_found");
    });
  }

  test("that are JWTs follow RFC 9068, and forged ones are refused", async () => {
    const server = await startAuthorizationServer(await openStore(), { config: { accessTokens: "jwt" } });
    const clientId = await server.newClient();
    const { accessToken } = await server.letIn(clientId);
    expect(decodeJwt(accessToken)).toMatchObject({
      iss: server.baseUrl,
      aud: server.baseUrl,
      sub: server.owner.accountId,
      client_id: clientId,
      scope: "coding:read coding:write",
      jti: expect.any(String),
    });
    const [header = "", claims = "", signature = ""] = accessToken.split(".");
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const more = encode({ ...decodeJwt(accessToken), scope: "coding:drive" });
    const forged = [
      `${header}.${more}.${signature}`,
      `${encode({ alg: "none", typ: "at+jwt", kid: "unused" })}.${claims}.`,
      `${header}.${claims}.${"A".repeat(signature.length)}`,
      `${header}.${claims}`,
      `${accessToken}.${accessToken}`,
      "..",
    ];
    for (const token of forged) expect(await server.oauth.tokens.find(token)).toBeNull();
  });

  test("record their use at most once a minute, and a refresh extends the app's lifetime", async () => {
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(await openStore(), { clock });
    const { oauth, owner } = server;
    const clientId = await server.newClient();
    const { accessToken, refreshToken } = await server.letIn(clientId);
    const app = async () => (await oauth.apps.list(owner.accountId))[0];
    const issuedAt = (await app())?.lastUsedAt;
    await clock.advance(minuteMs / 2);
    await oauth.tokens.find(accessToken);
    await clock.advance(minuteMs);
    await oauth.tokens.find(accessToken);
    await expect.poll(async () => (await app())?.lastUsedAt).not.toBe(issuedAt);
    expect((await app())?.lastUsedAt).toBe(new Date(clock.now()).toISOString());
    await clock.advance(lifetimes.grantMs - 5 * minuteMs);
    const refresh = { grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken };
    const { body } = await server.post(oauthPaths.token, refresh);
    expect((await app())?.expiresAt).toBe(new Date(clock.now() + lifetimes.grantMs).toISOString());
    const { appId = "" } = (await app()) ?? {};
    await clock.advance(lifetimes.grantMs - 1);
    expect(await oauth.apps.isConnected(owner.accountId, appId)).toBe(true);
    await clock.advance(2);
    expect(await oauth.apps.isConnected(owner.accountId, appId)).toBe(false);
    const late = await server.post(oauthPaths.token, { ...refresh, refresh_token: String(body["refresh_token"]) });
    expect(late).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect(await app()).toBeUndefined();
  });

  test("are removed with their client and their account", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const clientId = await server.newClient();
    const { accessToken } = await server.letIn(clientId);
    await server.oauth.clients.remove(clientId);
    expect(await server.oauth.tokens.find(accessToken)).toBeNull();
    const another = await server.letIn(await server.newClient());
    await store.db.deleteFrom("accounts").execute();
    expect(await server.oauth.tokens.find(another.accessToken)).toBeNull();
    expect(await store.db.selectFrom("oauth_records").select("kind").execute()).toEqual([]);
  });
});
