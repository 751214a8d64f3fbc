import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../../test/support/postgres-server.ts";
import { silentLog } from "../core/log.ts";
import { openDatabase } from "./database.ts";
import type { Tables } from "./schema.ts";

const unavailable = { code: "store_unavailable" };
/** Three seconds of waiting and three for the server to respond to a probe, with room for a busy machine. */
const deadlineMs = 10_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

async function openStore(): Promise<Kysely<Tables>> {
  const { db, close } = await openDatabase({ url: await server.createDatabase(), path: "", log: silentLog });
  onTestFinished(close);
  return db;
}

async function timed<T>(task: Promise<T>): Promise<number> {
  const before = performance.now();
  await task.catch(() => undefined);
  return performance.now() - before;
}

const one = (db: Kysely<Tables>) => sql<{ one: number }>`select 1 as one`.execute(db);
const isBack = async (db: Kysely<Tables>) => (await one(db).catch(() => null))?.rows;

describe("a PostgreSQL that hangs", () => {
  test("fails what is under way within seconds, then everything at once, and is used again when it answers", async () => {
    const db = await openStore();
    await server.pause();
    onTestFinished(() => server.resume());
    const many = Array.from({ length: 30 }, () => one(db)); // more queries than connections
    const transaction = db.transaction().execute((trx) => one(trx));
    const took = await timed(Promise.allSettled([...many, transaction]));
    for (const result of await Promise.allSettled([...many, transaction])) {
      expect(result).toMatchObject({ status: "rejected", reason: unavailable });
    }
    expect(took).toBeLessThan(deadlineMs);
    await expect(one(db)).rejects.toMatchObject(unavailable);
    expect(await timed(one(db))).toBeLessThan(100);
    await server.resume();
    await vi.waitFor(async () => expect(await isBack(db)).toEqual([{ one: 1 }]), deadlineMs);
  });

  test("does not keep the store from closing", async () => {
    const db = await openStore();
    await Promise.all([one(db), one(db), one(db)]);
    await server.pause();
    onTestFinished(() => server.resume());
    expect(await timed(db.destroy())).toBeLessThan(deadlineMs);
  });

  test("is distinguished from a slow statement", async () => {
    const db = await openStore();
    const slow = sql`select pg_sleep(8)`.execute(db);
    expect(await isBack(db)).toEqual([{ one: 1 }]);
    await expect(slow).resolves.toMatchObject({ rows: [{}] });
  });
});

/** A proxy to the server. After a chosen moment, new connections through it get no answer. */
async function startGate(target: URL) {
  let open = true;
  const sockets = new Set<Socket>();
  const gate = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    if (!open) return;
    const onward = connect(Number(target.port), target.hostname);
    sockets.add(onward.on("error", () => undefined));
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    gate.close();
  });
  const address = gate.address();
  if (address === null || typeof address === "string") throw new Error("The gate has no port.");
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  return { url: url.href, shut: () => void (open = false) };
}

test("a PostgreSQL that takes no new connection still answers on those that it has", async () => {
  const gate = await startGate(new URL(await server.createDatabase()));
  const { db, close } = await openDatabase({ url: gate.url, path: "", log: silentLog });
  onTestFinished(close);
  const sleep = (seconds: number) => sql`select pg_sleep(${seconds})`.execute(db);
  await Promise.all([sleep(0.2), sleep(0.2)]);
  gate.shut();
  let ended = false;
  const long = sleep(7.5).finally(() => (ended = true)); // longer than a call waits (three seconds) plus a probe (three more)
  const failing = expect(long).resolves.toBeDefined();
  while (!ended) {
    expect((await one(db)).rows).toEqual([{ one: 1 }]);
    await setTimeout(100);
  }
  await failing;
}, 20_000);

test("a PostgreSQL that was killed fails each call at once, and is used again when it is back", async () => {
  const db = await openStore();
  const sleeping = sql`select pg_sleep(20)`.execute(db);
  sleeping.catch(() => undefined); // checked below
  await vi.waitFor(async () => {
    const { rows } = await sql`select 1 from pg_stat_activity where query = 'select pg_sleep(20)'`.execute(db);
    expect(rows).toHaveLength(1);
  });
  await server.kill();
  await expect(sleeping).rejects.toMatchObject(unavailable);
  // The server process of a connection notices the shutdown a moment later.
  await vi.waitFor(() => expect(one(db)).rejects.toMatchObject(unavailable), deadlineMs);
  await expect(db.transaction().execute((trx) => one(trx))).rejects.toMatchObject(unavailable);
  await server.restart();
  await vi.waitFor(async () => expect(await isBack(db)).toEqual([{ one: 1 }]), deadlineMs);
});

test("an error of the statement stays what it is", async () => {
  const db = await openStore();
  await expect(sql`select nothing from nowhere`.execute(db)).rejects.toMatchObject({ code: "42P01" });
});
