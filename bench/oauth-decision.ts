/**
 * Authorizing an app, decision and tokens: Postern on SQLite, each step durable, compared with a bare `oidc-provider` with its in-memory
 * adapter and automatic consent. Interleaved rounds, each server in its own process, over HTTP on the loopback. Then with a million records
 * in the store, compared with an empty one, and the time of a request while they are swept.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { oauthPaths } from "../src/wire/oauth.ts";
import { createWorld, type World } from "../test/support/gateway.ts";
import { createOAuthPeer, manyAddresses } from "../test/support/oauth-client.ts";
import { type ServingProcess, servePostern } from "../test/support/postern-process.ts";
import { prepareStore } from "../test/support/prepared-store.ts";
import { median, quantile, sizeOf, small } from "./measure.ts";
import { type FlowRun, type FlowTarget, runFlows } from "./rig/oauth-flows.ts";

const rounds = sizeOf({ full: 15, small: 1 });
const flowsPerRound = sizeOf({ full: 150, small: 5 });
const warmUps = sizeOf({ full: 2, small: 1 });
const sweepFlows = sizeOf({ full: 300, small: 10 });
const manyRecords = sizeOf({ full: 1_000_000, small: 1_000 });
const redirectUris = Array.from({ length: 8 }, (_, at) => `https://client${at}.example/callback`);
const closers: (() => Promise<unknown> | void)[] = [];

function say(what: string, fits = true): void {
  process.stdout.write(`oauth-decision: ${fits ? "" : "MISSED: "}${what}\n`);
}

interface Ours {
  readonly world: World;
  readonly target: FlowTarget;
  readonly server: ServingProcess;
  /** Ends the gateway, lets `change` work on its store, and starts it again at the same address. */
  restart(change: (store: DatabaseSync) => void): Promise<Ours>;
}

async function startOurs(name: string): Promise<Ours> {
  const world = await createWorld({ agents: false, config: manyAddresses });
  closers.unshift(() => world.close());
  const token = await prepareStore(world, []);
  const server = await servePostern({ ...world.env });
  const issuer = server.url.replace("127.0.0.1", "localhost");
  const wanted = { client_name: "An app", redirect_uris: redirectUris, token_endpoint_auth_method: "none" };
  const clientId = String((await createOAuthPeer(issuer, token).register(wanted)).body["client_id"]);
  const target: FlowTarget = {
    name,
    pid: server.pid,
    issuer: server.url,
    clientId,
    redirectUris,
    authorizeMethod: "POST",
    authorizePath: oauthPaths.authorize,
    tokenPath: oauthPaths.token,
    decider: { authorization: `Bearer ${token}` },
  };
  return serving({ world, target, server });
}

function serving(ours: Omit<Ours, "restart">): Ours {
  closers.unshift(() => ours.server.end("SIGTERM"));
  return {
    ...ours,
    async restart(change) {
      await ours.server.end("SIGTERM");
      const store = openStore(ours.world);
      change(store);
      store.close();
      const port = Number(new URL(ours.server.url).port);
      const server = await servePostern({ ...ours.world.env }, { port });
      return serving({ ...ours, server, target: { ...ours.target, pid: server.pid } });
    },
  };
}

function openStore(world: World): DatabaseSync {
  return new DatabaseSync(join(world.home, "postern.db"), { timeout: 60_000 });
}

async function startBare(): Promise<FlowTarget> {
  const child = fork(join(import.meta.dirname, "rig", "bare-oidc.ts"), redirectUris, { stdio: "ignore" });
  closers.unshift(() => void child.kill());
  const [said] = await once(child, "message");
  const { issuer, cookie } = z.object({ issuer: z.string(), cookie: z.string() }).parse(said);
  return {
    name: "bare oidc-provider",
    pid: child.pid ?? 0,
    issuer,
    clientId: "bench",
    redirectUris,
    authorizeMethod: "GET",
    authorizePath: "/auth",
    tokenPath: "/token",
    decider: { cookie },
  };
}

interface Comparison {
  readonly one: number;
  readonly other: number;
  readonly ratio: number;
  readonly cpuRatio: number;
}

/** The middle of what the rounds showed. */
async function compare(one: FlowTarget, other: FlowTarget, concurrency: number): Promise<Comparison> {
  const seen: Comparison[] = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const runs = new Map<FlowTarget, FlowRun>();
    for (const target of round % 2 === 0 ? [one, other] : [other, one]) {
      runs.set(target, await runFlows(target, { count: flowsPerRound, concurrency }));
    }
    const [first, second] = [runs.get(one), runs.get(other)];
    if (round < 0 || first === undefined || second === undefined) continue;
    const ratio = first.perSecond / second.perSecond;
    seen.push({ one: first.perSecond, other: second.perSecond, ratio, cpuRatio: second.cpuMs / first.cpuMs });
  }
  const middle = (name: keyof Comparison): number => median(seen.map((each) => each[name]));
  return { one: middle("one"), other: middle("other"), ratio: middle("ratio"), cpuRatio: middle("cpuRatio") };
}

async function compareAndSay(one: FlowTarget, other: FlowTarget, least: number): Promise<void> {
  for (const concurrency of [1, 8]) {
    const seen = await compare(one, other, concurrency);
    say(
      `${concurrency} at a time: ${one.name} ${seen.one.toFixed(0)} flows/s, ${other.name} ${seen.other.toFixed(0)} flows/s, ` +
        `ratio ${seen.ratio.toFixed(2)} (goal ${least}); of processor time alone ${seen.cpuRatio.toFixed(2)}`,
      seen.ratio >= least,
    );
  }
}

/** Copies the records of one flow, as if so many apps had been authorized and abandoned. */
function fill(store: DatabaseSync, expiresAt: number): void {
  const columns = ["kind", "id_hash", "payload", "account_id", "client_id", "grant_hash", "user_code_hash"];
  const kept = [...columns, "consumed_at", "last_used_at", "created_at"];
  const values = kept.map((column) => {
    if (column === "id_hash") return "lower(hex(randomblob(32)))";
    if (column === "client_id") return "'another'";
    return column === "grant_hash"
      ? "CASE WHEN grant_hash IS NULL THEN NULL ELSE lower(hex(randomblob(32))) END"
      : column;
  });
  store.exec("PRAGMA synchronous = OFF");
  store
    .prepare(
      `INSERT INTO oauth_records (${kept.join(", ")}, expires_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?),
            sample AS (SELECT *, row_number() OVER () AS at FROM (SELECT * FROM oauth_records LIMIT 100))
       SELECT ${values.join(", ")}, ? FROM n JOIN sample ON sample.at = 1 + (n.i % (SELECT count(*) FROM sample))`,
    )
    .run(manyRecords, expiresAt);
  store.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

function countExpired(world: World): number {
  const store = openStore(world);
  const row = store.prepare("SELECT count(*) AS n FROM oauth_records WHERE expires_at < ?").get(Date.now());
  store.close();
  return Number(row?.["n"] ?? 0);
}

/** The time of flows during the sweep, and its duration. */
async function watchSweep(full: Ours): Promise<void> {
  const rest = await runFlows(full.target, { count: sweepFlows, concurrency: 1 });
  const swept = await full.restart((store) => {
    store.prepare("UPDATE oauth_records SET expires_at = ?").run(Date.now() - 24 * 3_600_000);
  });
  const startedAt = performance.now();
  const latencies: number[] = [];
  let left = countExpired(swept.world);
  const before = left;
  while (left > 0 && performance.now() - startedAt < 10 * 60_000) {
    latencies.push(...(await runFlows(swept.target, { count: Math.ceil(sweepFlows / 3), concurrency: 1 })).latenciesMs);
    left = countExpired(swept.world);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  say(
    `swept ${before - left} of ${before} expired records in ${seconds.toFixed(0)} s after the start during one client's flows; a flow meanwhile: ` +
      `p50 ${median(latencies).toFixed(1)} ms, p99 ${quantile(latencies, 0.99).toFixed(1)} ms, most ${Math.max(...latencies).toFixed(0)} ms; ` +
      `before: p50 ${median(rest.latenciesMs).toFixed(1)} ms, p99 ${quantile(rest.latenciesMs, 0.99).toFixed(1)} ms`,
    left === 0,
  );
}

try {
  const bare = await startBare();
  const ours = await startOurs("postern");
  await compareAndSay(ours.target, bare, 0.7);
  const filling = await startOurs(`postern with ${manyRecords} records`);
  await runFlows(filling.target, { count: Math.ceil(sweepFlows / 6), concurrency: 1 });
  const full = await filling.restart((store) => fill(store, Date.now() + 3_600_000));
  await compareAndSay(full.target, ours.target, 0.9);
  // The sweep begins a minute after the start.
  if (!small) await watchSweep(full);
} finally {
  for (const close of closers) await close();
}
