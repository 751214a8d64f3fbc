import { setImmediate as nextTask } from "node:timers/promises";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { addAccount, openTestErasure, openTestLogs, tester, whole } from "../../test/support/logs.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createAccountForgetting } from "./index.ts";

const derived = [
  "facts",
  "statements",
  "entities",
  "log_postings",
  "log_words",
  "log_chunks",
  "episodes",
  "log_entries",
];

async function rowsIn({ db }: TestStore): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const table of derived) {
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db);
    counts[table] = rows[0]?.n ?? 0;
  }
  return counts;
}

/** Entries of one session, each with unique words and addresses, and some that it shares with the next. */
async function remember(store: TestStore, { entries, words }: { readonly entries: number; readonly words: number }) {
  const logs = await openTestLogs(store);
  const me = await addAccount(store);
  for (let entry = 0; entry < entries; entry++) {
    const own = Array.from({ length: words }, (_, n) => `w${entry}x${n}`).join(" ");
    const urls = Array.from({ length: 40 }, (_, n) => `https://${entry * 30 + n}.example`).join(" ");
    await logs.submit(whole(me), { content: `Decision: a = ${entry}\n${urls}\n${own}`, sessionId: "s" });
  }
  return { logs, me };
}

/** Counts how often other tasks ran during an operation. */
async function turnsDuring(task: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const done = task.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await nextTask();
    turns += 1;
  }
  await done;
  return turns;
}

describeOnBothStores("what is deleted by pieces", (openStore) => {
  test("is counted to the row, and leaves what another entry says", { timeout: 60_000 }, async () => {
    const store = await openStore();
    const { logs, me } = await remember(store, { entries: 13, words: 30 });
    await logs.submit(whole(me), { content: "https://0.example w0x0" });
    const before = await rowsIn(store);
    const { deleted } = await logs.deleteSession(whole(me), "s", tester);
    const after = await rowsIn(store);
    const gone = (table: string) => (before[table] ?? 0) - (after[table] ?? 0);
    expect(deleted).toEqual({
      logs: 13,
      episodes: gone("episodes"),
      statements: gone("statements"),
      entities: gone("entities"),
      facts: gone("facts"),
    });
    expect(deleted.facts).toBe(13 * 42);
    expect(after).toMatchObject({ log_entries: 1, episodes: 1, log_chunks: 1, facts: 1, statements: 1 });
    expect(after["log_words"]).toBe(after["log_postings"]);
  });
});

test("others have their turns while a long session is deleted, or an account", { timeout: 60_000 }, async () => {
  const store = await openSqliteTestStore();
  const { logs, me } = await remember(store, { entries: 3, words: 4_000 });
  expect(await turnsDuring(logs.deleteSession(whole(me), "s", tester))).toBeGreaterThan(30);
  const other = await remember(store, { entries: 3, words: 4_000 });
  const forgetting = createAccountForgetting({
    ...store,
    clock: systemClock,
    log: silentLog,
    erasure: openTestErasure(store),
  });
  const removed = forgetting.forget(other.me, async () => {});
  expect(await turnsDuring(removed)).toBeGreaterThan(30);
  expect(Object.values(await rowsIn(store)).every((rows) => rows === 0)).toBe(true);
});
