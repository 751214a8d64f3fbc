import { expect, test } from "vitest";
import {
  redirectUri,
  startAuthorizationServer,
  type TestAuthorizationServer,
  verifier,
} from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { sha256 } from "../core/ids.ts";
import { oauthPaths } from "../wire/oauth.ts";

const refusedGrant = { status: 400, body: { error: "invalid_grant" } };

function refresh(server: TestAuthorizationServer, clientId: string, token: string | { token: string; scope: string }) {
  const { token: refreshToken, ...more } = typeof token === "string" ? { token } : token;
  const fields = { grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken, ...more };
  return server.post(oauthPaths.token, fields);
}

/** Holds callers until `count` of them have arrived, so that all find the same value unused. The first `before` callers pass through. */
function meetingOf(count: number, before = 0): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let arrived = -before;
  return async () => {
    arrived += 1;
    if (arrived === count) all.resolve();
    if (arrived > 0) await all.promise;
  };
}

describeOnBothStores("an exchange", (openStore) => {
  test("of one code by twenty simultaneous requests, all of which find it unused, succeeds once", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store, { afterFind: meetingOf(20) });
    const clientId = await server.newClient();
    const code = await server.allow(clientId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.redeem(clientId, code)));
    const refused = answers.filter(({ status, body }) => status === 400 && body["error"] === "invalid_grant");
    expect(refused).toHaveLength(19);
    // The code was used twice, so all its tokens are revoked.
    const won = answers.find(({ status }) => status === 200);
    expect(won?.body["access_token"]).toEqual(expect.any(String));
    await expect.poll(() => server.oauth.tokens.find(String(won?.body["access_token"]))).toBeNull();
    expect(server.notes.some(({ action }) => action === "app_token_reused")).toBe(true);
  });

  test("of one code by two gateways on the same store succeeds once", async () => {
    const store = await openStore();
    const afterFind = meetingOf(2);
    const here = await startAuthorizationServer(store, { afterFind });
    const there = await startAuthorizationServer(await store.openAgain(), { afterFind });
    const clientId = await here.newClient();
    const code = await here.allow(clientId);
    const both = await Promise.all([here.redeem(clientId, code), there.redeem(clientId, code)]);
    expect(both.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 400]));
  });

  test("of a used code revokes its tokens, and is audited", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const code = await server.allow(clientId);
    const { body } = await server.redeem(clientId, code);
    expect(await server.oauth.tokens.find(String(body["access_token"]))).not.toBeNull();
    expect(await server.redeem(clientId, code)).toMatchObject(refusedGrant);
    expect(await server.oauth.tokens.find(String(body["access_token"]))).toBeNull();
    expect(await refresh(server, clientId, String(body["refresh_token"]))).toMatchObject(refusedGrant);
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
    const reused = server.notes.filter(({ action }) => action === "app_token_reused");
    expect(reused).toMatchObject([{ accountId: server.owner.accountId, subject: expect.any(String) }]);
  });

  test("of a refresh token returns a new one each time; of a used one revokes the family", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const { refreshToken: first } = await server.letIn(clientId, { scope: "coding:read logs:read" });
    const second = await refresh(server, clientId, { token: first, scope: "logs:read" });
    expect(second).toMatchObject({ status: 200, body: { scope: "logs:read" } });
    const more = { token: String(second.body["refresh_token"]), scope: "coding:drive" };
    const wider = await refresh(server, clientId, more);
    expect(wider).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
    const third = await refresh(server, clientId, String(second.body["refresh_token"]));
    expect(third).toMatchObject({ status: 200, body: { scope: "coding:read logs:read" } });
    expect(await refresh(server, clientId, first)).toMatchObject(refusedGrant);
    expect(await refresh(server, clientId, String(third.body["refresh_token"]))).toMatchObject(refusedGrant);
    expect(await server.oauth.tokens.find(String(third.body["access_token"]))).toBeNull();
    expect(server.notes.map(({ action }) => action)).toContain("app_token_reused");
  });

  test("of many refresh tokens in sequence keeps the newest used ones, to detect reuse", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const clientId = await server.newClient();
    let { refreshToken } = await server.letIn(clientId);
    const first = refreshToken;
    const tokens = () => store.db.selectFrom("oauth_records").selectAll().where("kind", "=", "RefreshToken").execute();
    const used = (await tokens()).flatMap((row) =>
      Array.from({ length: 150 }, (_, at) => ({ ...row, id_hash: sha256(`used ${at}`), consumed_at: 1 + at })),
    );
    await store.db.insertInto("oauth_records").values(used).execute();
    for (let count = 0; count < 19; count += 1) {
      refreshToken = String((await refresh(server, clientId, refreshToken)).body["refresh_token"]);
    }
    const left = new Set((await tokens()).map((row) => row.id_hash));
    expect(left.size).toBe(81);
    expect(["used 149", first].map(sha256).filter((hash) => !left.has(hash))).toEqual([]);
    expect(left.has(sha256("used 0"))).toBe(false);
    expect(await refresh(server, clientId, "used 0")).toMatchObject(refusedGrant);
    expect(await server.oauth.apps.list(server.owner.accountId)).toHaveLength(1);
    expect(await refresh(server, clientId, first)).toMatchObject(refusedGrant);
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
  });

  test("of a refresh token by twenty simultaneous requests succeeds once", async () => {
    const server = await startAuthorizationServer(await openStore(), { afterFind: meetingOf(20, 1) });
    const clientId = await server.newClient();
    const { refreshToken } = await server.letIn(clientId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(server, clientId, refreshToken)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test("of an invalid code or token is always invalid_grant", async () => {
    const server = await startAuthorizationServer(await openStore());
    const [clientId, another] = [await server.newClient(), await server.newClient()];
    const code = () => server.allow(clientId);
    expect(await server.redeem(clientId, "nothing")).toMatchObject(refusedGrant);
    expect(await server.redeem(another, await code())).toMatchObject(refusedGrant);
    expect(await server.redeem(clientId, await code(), { code_verifier: `${verifier}x` })).toMatchObject(refusedGrant);
    expect(await server.redeem(clientId, await code(), { redirect_uri: `${redirectUri}2` })).toMatchObject(
      refusedGrant,
    );
    const { refreshToken, accessToken } = await server.letIn(clientId);
    expect(await server.redeem(clientId, refreshToken)).toMatchObject(refusedGrant);
    expect(await refresh(server, another, refreshToken)).toMatchObject(refusedGrant);
    expect(await refresh(server, clientId, accessToken)).toMatchObject(refusedGrant);
    expect(await refresh(server, clientId, "nothing")).toMatchObject(refusedGrant);
  });

  test("with a duplicate field is refused, and so is one that is not a form", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const code = await server.allow(clientId);
    const send = async (body: string, type = "application/x-www-form-urlencoded") => {
      const url = `${server.baseUrl}${oauthPaths.token}`;
      const answer = await fetch(url, { method: "POST", body, headers: { "content-type": type } });
      return [answer.status, JSON.parse(await answer.text()).error];
    };
    const twice = `grant_type=authorization_code&client_id=${clientId}&code=${code}&code=${code}`;
    expect(await send(twice)).toEqual([400, "invalid_request"]);
    expect(await send("{}", "application/json")).toEqual([400, "invalid_request"]);
    expect(await send(`a=${"x".repeat(70_000)}`)).toEqual([400, "invalid_request"]);
    expect(await send("grant_type=password")).toEqual([400, "invalid_request"]);
  });

  test("can be revoked by the client, and only the client can introspect its tokens", async () => {
    const server = await startAuthorizationServer(await openStore());
    const [clientId, another] = [await server.newClient(), await server.newClient()];
    const { accessToken, refreshToken } = await server.letIn(clientId);
    const ask = (client: string, token: string) =>
      server.post(oauthPaths.introspection, { client_id: client, token }).then(({ body }) => body);
    expect(await ask(clientId, accessToken)).toMatchObject({ active: true, client_id: clientId, token_type: "Bearer" });
    expect(await ask(another, accessToken)).toEqual({ active: false });
    expect(await ask(clientId, "nothing")).toEqual({ active: false });
    const revoke = (client: string) => server.post(oauthPaths.revocation, { client_id: client, token: refreshToken });
    expect((await revoke(another)).status).toBe(200);
    expect(await server.oauth.tokens.find(accessToken)).not.toBeNull();
    expect((await revoke(clientId)).status).toBe(200);
    expect(await server.oauth.tokens.find(accessToken)).toBeNull();
    expect(await ask(clientId, accessToken)).toEqual({ active: false });
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
  });

  test("stores nothing that can be used as a credential", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const { clientId, clientSecret } = await server.oauth.clients.add({
      name: "A bot",
      redirectUris: [redirectUri],
      confidential: true,
    });
    const [open, allowed] = [await server.newClient(), await server.newClient()];
    const { body: device } = await server.post(
      oauthPaths.deviceAuthorization,
      { client_id: clientId },
      clientSecret ?? "",
    );
    const { accessToken, refreshToken } = await server.letIn(open);
    const codes = [await server.allow(allowed), await server.allow(clientId, { code_challenge_method: "plain" })];
    await server.oauth.keySet();
    const rows = [
      ...(await store.db.selectFrom("oauth_records").selectAll().execute()),
      ...(await store.db.selectFrom("oauth_clients").selectAll().execute()),
      ...(await store.db.selectFrom("oauth_keys").selectAll().execute()),
    ];
    expect(rows.length).toBeGreaterThan(8);
    const stolen = new Set(rows.flatMap((row) => Object.values(row).flatMap((value) => stringsIn(value))));
    const { device_code: deviceCode, user_code: userCode } = device;
    const secrets = [clientSecret, accessToken, refreshToken, ...codes, deviceCode, userCode].map(String);
    for (const secret of [...secrets, String(userCode).replace("-", "")]) {
      expect([...stolen].filter((text) => text.includes(secret))).toEqual([]);
    }
    // The stored hashes cannot be used as credentials either.
    expect(stolen).toContain(sha256(accessToken));
    const tried = [...stolen].map(async (text) => {
      expect(await server.oauth.tokens.find(text)).toBeNull();
      const answers = [
        await server.redeem(open, text),
        await refresh(server, open, text),
        await server.post(oauthPaths.introspection, { client_id: clientId, token: "x" }, text),
      ];
      expect([text, answers.map(({ status }) => status).filter((status) => status < 400)]).toEqual([text, []]);
      await expect(server.oauth.describeDevice(text, server.owner)).rejects.toMatchObject({ code: "invalid_request" });
    });
    await Promise.all(tried);
  });
});

/** Every string in a value, including those in nested JSON, whole and split into words. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
  }
  if (typeof value !== "string" || value === "") return [];
  const inner = /^[[{]/.test(value) ? stringsIn(JSON.parse(value)) : [];
  return [value, ...value.split(/\s+/), ...inner].filter((text) => text.length >= 8 && text.length < 4_000);
}
