import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { countsOf } from "../../test/support/log-oracle.ts";
import { addAccount, callOf, openTestErasure, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { newSentinel, tracesOf } from "../../test/support/traces.ts";
import { systemClock } from "../core/clock.ts";

const nothing = { agent: null, repository: null, branch: null };
/** The words that occur in any file of the state folder. */
async function tracedIn(store: TestStore, words: readonly string[]): Promise<readonly string[]> {
  const traces = await tracesOf(dirname(store.place.path), words);
  return words.filter((word) => traces.some((trace) => trace.word === word));
}

const isTraced = async (store: TestStore, word: string): Promise<boolean> => (await tracedIn(store, [word])).length > 0;

describe("what was deleted, on SQLite", () => {
  async function setUp() {
    const store = await openSqliteTestStore();
    const erasure = openTestErasure(store);
    const logs = await openTestLogs(store, { erasure });
    // Its start empties the journal, and a reader during that time would miss content that moves from one file to the other.
    await expect.poll(() => erasure.isPending, { interval: 5 }).toBe(false);
    return { store, erasure, logs, me: await addAccount(store) };
  }

  /** An entry that contains its sentinel in every form. */
  function saying(sentinel: string) {
    const content = `Decision: ${sentinel} = ${sentinel}\nRemember: ${sentinel}\nhttps://${sentinel}.example\n${sentinel.toUpperCase()} é${sentinel}`;
    return { title: `about ${sentinel}`, content, sessionId: `session-${sentinel}` };
  }

  test("is in no file afterwards: neither content, nor what was derived, nor words", async () => {
    const { store, logs, me } = await setUp();
    for (let n = 0; n < 20; n++) await logs.submit(whole(me), saying(newSentinel()));
    const sentinel = newSentinel();
    const key = { idempotencyKey: `key ${sentinel}` };
    const { log } = await logs.submit(
      whole(me),
      { ...saying(sentinel), content: `${saying(sentinel).content} ${"long ".repeat(20_000)}` },
      key,
    );
    for (let n = 0; n < 20; n++) await logs.submit(whole(me), saying(newSentinel()));
    expect(await isTraced(store, sentinel)).toBe(true);
    expect((await logs.search(whole(me), { q: sentinel })).hits).toHaveLength(1);
    const { message } = await logs.delete(whole(me), log.logId, tester);
    expect(message).not.toContain("pending");
    expect(await isTraced(store, sentinel)).toBe(false);
  });

  test("is in no file afterwards either when it came from a session", async () => {
    const { store, logs, me } = await setUp();
    const sentinel = newSentinel();
    const blocks = [
      sentinel,
      callOf("Edit", { file_path: `/w/${sentinel}` }),
      callOf("Bash", { command: `echo ${sentinel}` }, { text: sentinel }),
    ];
    const recording = {
      sessionId: "s1",
      title: sentinel,
      dir: null,
      context: nothing,
      onPurpose: false,
      turns: [turnOf(0, blocks)],
    };
    await logs.record(me, recording);
    expect(await isTraced(store, sentinel)).toBe(true);
    await logs.deleteSession(whole(me), "s1", tester);
    expect(await isTraced(store, sentinel)).toBe(false);
    expect((await logs.record(me, recording)).outcome).toBe("suppressed");
  });

  test("leaves no trace after the file was rewritten, however much came and went", { timeout: 60_000 }, async () => {
    const { store, logs, me } = await setUp();
    const kept = new Map<string, string>();
    const gone: string[] = [];
    for (let n = 0; n < 150; n++) {
      if (kept.size < 30 || randomInt(2) === 0) {
        const sentinel = newSentinel();
        kept.set(sentinel, (await logs.submit(whole(me), saying(sentinel))).log.logId);
        continue;
      }
      const [sentinel = "", logId = ""] = [...kept][randomInt(kept.size)] ?? [];
      await logs.delete(whole(me), logId, tester);
      kept.delete(sentinel);
      gone.push(sentinel);
    }
    expect(await tracedIn(store, [...kept.keys()])).toEqual([...kept.keys()]);
    await sql`vacuum`.execute(store.db);
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    expect(await tracedIn(store, gone)).toEqual([]);
  });

  /** Keeps a snapshot of the current pages. */
  function openReader(store: TestStore): DatabaseSync {
    const reader = new DatabaseSync(store.place.path);
    onTestFinished(() => {
      if (reader.isOpen) reader.close();
    });
    reader.exec("begin");
    reader.prepare("select count(*) from log_entries").get();
    return reader;
  }

  test("is said to be pending while a reader holds on to it, and goes when the reader leaves", async () => {
    const { store, logs, me } = await setUp();
    const sentinel = newSentinel();
    const { log } = await logs.submit(whole(me), saying(sentinel));
    const reader = openReader(store);
    const began = performance.now();
    const { message, deleted } = await logs.delete(whole(me), log.logId, tester);
    expect(performance.now() - began).toBeGreaterThan(4_500);
    expect(message).toContain("is pending");
    expect(deleted.episode).toBe(true);
    expect(logs.isErasurePending).toBe(true);
    expect(await isTraced(store, sentinel)).toBe(true);
    reader.close();
    while (logs.isErasurePending) await systemClock.sleep(20);
    expect(await isTraced(store, sentinel)).toBe(false);
  });

  test("goes at the next start when the gateway ended before", async () => {
    const { store, erasure, logs, me } = await setUp();
    const sentinel = newSentinel();
    const { log } = await logs.submit(whole(me), saying(sentinel));
    const reader = openReader(store);
    const deleting = logs.delete(whole(me), log.logId, tester);
    await systemClock.sleep(100);
    await erasure.close();
    await logs.close();
    expect((await deleting).message).toContain("is pending");
    reader.close();
    expect(await isTraced(store, sentinel)).toBe(true);
    const again = await openTestLogs(store);
    while (again.isErasurePending) await systemClock.sleep(20);
    expect(await isTraced(store, sentinel)).toBe(false);
  });
});

/** More than a process deletes before it is killed. */
const entries = 50;

describeOnBothStores("a process that is killed while it deletes", (openStore) => {
  test("leaves every entry whole, or gone with all that only it said", { timeout: 60_000 }, async () => {
    const store = await openStore();
    const me = await addAccount(store);
    const logs = await openTestLogs(store);
    const content = (n: number) =>
      Array.from({ length: 40 }, (_, m) => `https://x.example/${m < 20 ? m : `${n}-${m}`}`).join(" ");
    const all = new Map<string, number>();
    for (let n = 0; n < entries; n++) all.set((await logs.submit(whole(me), { content: content(n) })).log.logId, n);
    for (let round = 0; round < 2; round++) {
      const child = spawn(process.execPath, [program, JSON.stringify(store.place), me], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      await systemClock.sleep(randomInt(60));
      await killed(child);
    }
    const left = await store.db.selectFrom("log_entries").select("log_id").execute();
    const audited = await store.db.selectFrom("audit_entries").select("details").execute();
    expect(left.length + audited.length).toBe(entries);
    expect(audited.length).toBeGreaterThan(0);
    const fresh = await openStore();
    const other = await openTestLogs(fresh);
    const account = await addAccount(fresh);
    for (const { log_id } of left) await other.submit(whole(account), { content: content(all.get(log_id) ?? -1) });
    expect(await countsOf({ store })).toEqual(await countsOf({ store: fresh }));
    for (const table of ["log_words", "log_postings", "log_chunks"] as const) {
      const rows = async (one: TestStore) => (await one.db.selectFrom(table).selectAll().execute()).length;
      expect(await rows(store), table).toBe(await rows(fresh));
    }
  });
});

const program = fileURLToPath(new URL("../../test/support/delete-logs.ts", import.meta.url));

async function killed(child: ChildProcess): Promise<void> {
  const exit = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  child.kill("SIGKILL");
  await exit;
}
