import { decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { startAuthorizationServer, testKey } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { type Log, silentLog } from "../core/log.ts";
import { createSecretBox } from "../platform/secret-box.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { lifetimes } from "./lifetimes.ts";
import { createSigningKeys } from "./signing-keys.ts";

const minuteMs = 60_000;
const secrets = createSecretBox(testKey);

describeOnBothStores("keys of access tokens", (openStore) => {
  test("rotate without affecting clients or another gateway on the same store", async () => {
    const store = await openStore();
    const clock = createFakeClock(Date.now());
    const config = { accessTokens: "jwt" } as const;
    const here = await startAuthorizationServer(store, { clock, config });
    const there = createSigningKeys({ db: (await store.openAgain()).db, clock, secrets });
    const mine = createSigningKeys({ db: store.db, clock, secrets });
    const clientId = await here.newClient();
    const kidOf = (token: string) => decodeProtectedHeader(token).kid;

    const first = await here.letIn(clientId);
    expect(await here.oauth.tokens.find(first.accessToken)).toMatchObject({ app: { clientId }, resource: "all" });
    expect(await there.find(String(kidOf(first.accessToken)))).not.toBeNull();

    await clock.advance(lifetimes.signingKeyMs);
    // When two gateways find the key old at the same time, only one creates the next.
    await Promise.all([mine.rotate(), there.rotate()]);
    expect(await mine.all()).toHaveLength(2);

    const atFirst = await here.letIn(clientId);
    expect(kidOf(atFirst.accessToken)).toBe(kidOf(first.accessToken));
    await clock.advance(lifetimes.keyNoticeMs + minuteMs);
    const next = await here.letIn(clientId);
    expect(kidOf(next.accessToken)).not.toBe(kidOf(first.accessToken));
    expect(await there.find(String(kidOf(next.accessToken)))).not.toBeNull();

    // A token that the old key signed at the last moment stays valid until it expires.
    await clock.advance(lifetimes.accessTokenMs - 2 * minuteMs);
    expect(await mine.find(String(kidOf(first.accessToken)))).not.toBeNull();
    expect(await here.oauth.tokens.find(next.accessToken)).not.toBeNull();
    await clock.advance(lifetimes.keyNoticeMs + 2 * minuteMs);
    await mine.rotate();
    expect(await mine.find(String(kidOf(first.accessToken)))).toBeNull();
    expect(await mine.all()).toHaveLength(1);
  });

  test("are published without their private parts, and are stored encrypted", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store, { config: { accessTokens: "jwt" } });
    await server.letIn(await server.newClient());
    const { keys } = await server.oauth.keySet();
    expect(keys).toEqual([
      { kty: "RSA", n: expect.any(String), e: "AQAB", kid: expect.any(String), alg: "RS256", use: "sig" },
    ]);
    const rows = await store.db.selectFrom("oauth_keys").selectAll().execute();
    expect(rows.map(({ sealed }) => sealed.slice(0, 3))).toEqual(["v1."]);
  });

  test("that cannot be decrypted, because the key file was replaced, are skipped: a new one is created", async () => {
    const store = await openStore();
    const config = { accessTokens: "jwt" } as const;
    const before = await startAuthorizationServer(store, { config });
    const clientId = await before.newClient();
    const { accessToken, refreshToken } = await before.letIn(clientId);
    const complaints: unknown[] = [];
    const log: Log = { ...silentLog, error: (fields) => void complaints.push(fields) };
    const other = { secrets: createSecretBox(Buffer.alloc(32)), log };
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(store, { config, clock, ...other });
    expect(await server.oauth.tokens.find(accessToken)).toBeNull();
    expect(await server.oauth.keySet()).toEqual({ keys: [] });
    const refreshed = await server.post(oauthPaths.token, {
      grant_type: "refresh_token",
      client_id: clientId,
      refresh_token: refreshToken,
    });
    expect(await server.oauth.tokens.find(String(refreshed.body["access_token"]))).not.toBeNull();
    await clock.advance(10 * minuteMs);
    expect(await server.oauth.tokens.find(accessToken)).toBeNull();
    expect((await server.oauth.keySet())["keys"]).toHaveLength(1);
    expect(complaints).toHaveLength(1);
    const opaque = await startAuthorizationServer(store, other);
    const letIn = await opaque.letIn(clientId);
    expect(await opaque.oauth.tokens.find(letIn.accessToken)).not.toBeNull();
    expect(await opaque.oauth.tokens.find(accessToken)).toBeNull();
  });
});
