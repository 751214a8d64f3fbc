import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { createWorld, type World } from "../support/gateway.ts";
import {
  createOAuthPeer,
  manyAddresses,
  newChallenge,
  type OAuthPeer,
  type TestClient,
  tokensOf,
} from "../support/oauth-client.ts";
import { createTestDatabaseUrl } from "../support/postgres.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { suiteSeed } from "../support/suite-seed.ts";

// The gateway is killed between any two instructions of code → token → refresh, with several apps under way.

let world: World | undefined;
beforeEach(() => {
  world = undefined;
});
afterEach(() => world?.close());

// Each is a start of a process.
const rounds = 5;
const appsAtOnce = 4;
/** A flow of one app has five requests. */
const mostRequests = 50;
/** From the request's way out to somewhere within its answer. */
const longestMs = 8;

/** The same figures in each run. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** An app that is let in and refreshes, over and over, until its gateway is gone. Keeps what it was given last. */
interface BusyApp {
  readonly client: TestClient;
  refreshToken: string | null;
}

async function beBusy(app: BusyApp, peer: OAuthPeer, onRequest: () => void): Promise<void> {
  for (;;) {
    try {
      const challenge = newChallenge();
      onRequest();
      const code = await peer.code(app.client, challenge);
      app.refreshToken = null;
      onRequest();
      let tokens = tokensOf(await peer.redeem(app.client, code, { code_verifier: challenge.verifier }));
      for (let times = 0; times < 3; times += 1) {
        app.refreshToken = tokens.refreshToken;
        onRequest();
        tokens = tokensOf(await peer.refresh(app.client, tokens.refreshToken));
      }
      app.refreshToken = tokens.refreshToken;
    } catch (error) {
      if (error instanceof TypeError) return; // the connection: nobody is there any more
      throw error;
    }
  }
}

/** A client that returns: it continues with its tokens, or is authorized again. */
async function comeBack(app: BusyApp, peer: OAuthPeer): Promise<"went on" | "signed in again"> {
  const answer = app.refreshToken === null ? null : await peer.refresh(app.client, app.refreshToken);
  if (answer?.status === 200) {
    expect(await peer.use(tokensOf(answer).accessToken)).toBe(200);
    return "went on";
  }
  if (answer !== null) expect(answer).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  const { accessToken, refreshToken } = await peer.letIn(app.client);
  expect(await peer.use(accessToken)).toBe(200);
  expect((await peer.refresh(app.client, refreshToken)).status).toBe(200);
  return "signed in again";
}

const liveFamilies = `SELECT grant_hash, count(*) AS n FROM oauth_records
  WHERE kind = 'RefreshToken' AND consumed_at IS NULL GROUP BY grant_hash HAVING count(*) > 1`;
const orphans = `SELECT kind, count(*) AS n FROM oauth_records AS record
  WHERE kind IN ('AuthorizationCode', 'AccessToken', 'RefreshToken') AND NOT EXISTS (
    SELECT 1 FROM oauth_records AS owner WHERE owner.kind = 'Grant' AND owner.id_hash = record.grant_hash
  ) GROUP BY kind`;
const halfRedeemed = `SELECT code.grant_hash FROM oauth_records AS code
  WHERE code.kind = 'AuthorizationCode' AND code.consumed_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM oauth_records AS given WHERE given.kind = 'RefreshToken' AND given.grant_hash = code.grant_hash
  )`;

async function inconsistencies(databaseUrl: string | null, home: string): Promise<readonly unknown[]> {
  const queries = [liveFamilies, orphans, halfRedeemed];
  if (databaseUrl === null) {
    const store = new DatabaseSync(join(home, "postern.db"), { timeout: 5_000 });
    const found = queries.flatMap((query) => store.prepare(query).all());
    expect(store.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    store.close();
    return found;
  }
  const { db, close } = await openDatabase({ url: databaseUrl, path: "unused", log: silentLog });
  const answers = await Promise.all(queries.map((query) => db.executeQuery(CompiledQuery.raw(query))));
  await close();
  return answers.flatMap(({ rows }) => rows);
}

test.for([
  ["SQLite", rounds],
  ["PostgreSQL", 2],
] as const)("on %s: the store is consistent, and at worst the client signs in again", async ([store, times]) => {
  const databaseUrl = store === "SQLite" ? null : await createTestDatabaseUrl();
  const env: Readonly<Record<string, string>> = databaseUrl === null ? {} : { POSTERN_DATABASE_URL: databaseUrl };
  const made = await createWorld({ agents: false, config: manyAddresses, env });
  world = made;
  const token = await prepareStore(made, []);
  const random = createRandom(suiteSeed);
  let port = 0;
  const apps: BusyApp[] = [];
  const endings = new Set<string>();
  for (let round = 0; round < times; round += 1) {
    const { server } = await serveWorld(made, token, { port });
    port = Number(new URL(server.url).port);
    const peer = createOAuthPeer(server.url, token);
    expect(await inconsistencies(databaseUrl, made.home)).toEqual([]);
    for (const app of apps) endings.add(await comeBack(app, peer));
    while (apps.length < appsAtOnce) apps.push({ client: await peer.newClient(), refreshToken: null });
    await peer.letIn(apps[0]?.client ?? (await peer.newClient())); // what is loaded at first use is loaded
    const killAt = 1 + Math.floor(random() * mostRequests);
    const reached = Promise.withResolvers<void>();
    let requests = 0;
    const onRequest = (): void => {
      requests += 1;
      if (requests === killAt) reached.resolve();
    };
    const busy = Promise.all(apps.map((app) => beBusy(app, peer, onRequest)));
    await Promise.race([reached.promise, busy]); // an app that fails for another reason ends the test
    await sleep(random() * longestMs);
    await server.end("SIGKILL");
    await busy;
  }
  expect(await inconsistencies(databaseUrl, made.home)).toEqual([]);
  expect(endings.has("went on"), "some of the tokens outlive it").toBe(true);
});
