import { once } from "node:events";
import { createServer } from "node:net";
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/app/config.ts";
import { openStores, type Stores } from "../../src/app/stores.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { lifetimes } from "../../src/oauth/lifetimes.ts";
import { createSigningKeys } from "../../src/oauth/signing-keys.ts";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { createWorld, startGateway, type World } from "../support/gateway.ts";
import { createOAuthPeer, decidingToken, manyAddresses, tokensOf } from "../support/oauth-client.ts";

// What takes months is done to the store between two gateways, as if the time had gone by.

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function withStores(world: World, change: (stores: Stores) => Promise<void>): Promise<void> {
  const stores = await openStores(loadConfig(world.env), { log: silentLog, clock: systemClock });
  await change(stores);
  await stores.close();
}

/** Makes all keys older. */
async function age({ db }: Stores, ms: number): Promise<void> {
  await db
    .updateTable("oauth_keys")
    .set(({ ref, eb }) => ({
      created_at: eb(ref("created_at"), "-", ms),
      retired_at: eb(ref("retired_at"), "-", ms),
      expires_at: eb(ref("expires_at"), "-", ms),
    }))
    .execute();
}

function rotate({ db, secrets }: Stores): Promise<void> {
  return createSigningKeys({ db, clock: systemClock, secrets }).rotate();
}

function kidOf(token: string): string {
  return decodeProtectedHeader(token).kid ?? "";
}

test("keys rotate, and neither a signed-in client nor a resource server that keeps the key set notices", async () => {
  const port = await freePort();
  const config = { ...manyAddresses, port, oauth: { accessTokens: "jwt" } };
  const world = await createWorld({ agents: false, config });
  onTestFinished(() => world.close());

  let gateway = await startGateway(world);
  onTestFinished(() => gateway.close());
  const peer = createOAuthPeer(gateway.app.baseUrl, await decidingToken(gateway));
  const jwksUrl = `${peer.issuer}${oauthPaths.jwks}`;
  const readKeySet = async () => (await fetch(jwksUrl)).json();
  const kidsOf = (set: { readonly keys: readonly { readonly kid: string }[] }) => set.keys.map(({ kid }) => kid);
  const expected = { issuer: peer.issuer, audience: peer.issuer, typ: "at+jwt" };
  const client = await peer.newClient();
  const first = await peer.letIn(client);
  expect((await jwtVerify(first.accessToken, createRemoteJWKSet(new URL(jwksUrl)), expected)).payload).toMatchObject({
    client_id: client.clientId,
    scope: "coding:read coding:write",
  });

  // Its time is over: the next key is there, and shown before it signs.
  await gateway.close();
  await withStores(world, async (stores) => {
    await age(stores, lifetimes.signingKeyMs);
    await rotate(stores);
  });
  gateway = await startGateway(world);
  const kept = await readKeySet();
  expect(kidsOf(kept)).toHaveLength(2);
  expect(kidsOf(kept)).toContain(kidOf(first.accessToken));
  expect(JSON.stringify(kept)).not.toMatch(/"(d|p|q|dp|dq|qi|k)":/);
  const second = tokensOf(await peer.refresh(client, first.refreshToken));
  expect(kidOf(second.accessToken)).toBe(kidOf(first.accessToken));
  expect([await peer.use(first.accessToken), await peer.use(second.accessToken)]).toEqual([200, 200]);

  // It was shown for long enough: it signs, and what the old one signed is as good as before.
  await gateway.close();
  await withStores(world, (stores) => age(stores, lifetimes.keyNoticeMs));
  gateway = await startGateway(world);
  const third = tokensOf(await peer.refresh(client, second.refreshToken));
  expect(kidOf(third.accessToken)).not.toBe(kidOf(first.accessToken));
  for (const { accessToken } of [first, second, third]) {
    expect(await peer.use(accessToken)).toBe(200);
    await jwtVerify(accessToken, createLocalJWKSet(kept), expected);
  }

  // Nothing that the old one signed can be in force: it is gone, and the client goes on.
  await gateway.close();
  await withStores(world, async (stores) => {
    await age(stores, lifetimes.accessTokenMs + lifetimes.keyNoticeMs);
    await rotate(stores);
  });
  gateway = await startGateway(world);
  expect(kidsOf(await readKeySet())).toEqual([kidOf(third.accessToken)]);
  expect(await peer.use(first.accessToken)).toBe(401);
  const fourth = tokensOf(await peer.refresh(client, third.refreshToken));
  expect(await peer.use(fourth.accessToken)).toBe(200);
});
