import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { newSentinel, tracesOf } from "../../test/support/traces.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createErasure } from "./erasure.ts";
import { createJournal } from "./journal.ts";

const rows = 500;
/** Size of each row; all rows together are more than is copied without a thread. */
const rowBytes = 8 * 1024;

async function setUp() {
  const store = await openSqliteTestStore();
  const journal = createJournal(store.db);
  onTestFinished(() => journal.close());
  const sentinel = newSentinel();
  const content = sentinel.padEnd(rowBytes, "x");
  const fill = () =>
    store.db.transaction().execute(async (tx) => {
      for (let n = 0; n < rows; n += 1) {
        await tx
          .insertInto("folders")
          .values({ path: `${n} ${content}`, scopes: "[]", created_at: n })
          .execute();
      }
    });
  const journalBytes = async () => (await stat(`${store.place.path}-wal`)).size;
  const checkpointPages = async (on = store.db) =>
    (await sql<{ wal_autocheckpoint: number }>`pragma wal_autocheckpoint`.execute(on)).rows[0]?.wal_autocheckpoint;
  return { store, journal, sentinel, fill, journalBytes, checkpointPages };
}

test("a large journal is emptied, and a transaction that was prepared is not copied back by its own end", async () => {
  const { store, journal, fill, journalBytes, checkpointPages } = await setUp();
  await fill();
  const before = await checkpointPages();
  expect(await journalBytes()).toBeGreaterThan(rows * rowBytes);
  await store.db.transaction().execute(async (tx) => {
    await tx.deleteFrom("folders").execute();
    await journal.prepare(tx);
    expect(await checkpointPages(tx)).toBe(16 * (before ?? 0));
  });
  expect(await journal.empty()).toBe(true);
  expect(await journalBytes()).toBe(0);
  expect(await checkpointPages()).toBe(before);
});

test("while a reader holds on to a large journal it is not emptied, others write, and it is when the reader leaves", async () => {
  const { store, journal, fill, journalBytes } = await setUp();
  await fill();
  const reader = new DatabaseSync(store.place.path);
  onTestFinished(() => {
    if (reader.isOpen) reader.close();
  });
  reader.exec("begin");
  reader.prepare("select count(*) from folders").get();
  await store.db.deleteFrom("folders").execute();
  expect(await journal.empty()).toBe(false);
  await store.db.insertInto("folders").values({ path: "/another", scopes: "[]", created_at: 1 }).execute();
  reader.close();
  expect(await journal.empty()).toBe(true);
  expect(await journalBytes()).toBe(0);
});

test("nothing of much that was deleted is in any file when it is emptied", async () => {
  const { store, sentinel, fill } = await setUp();
  const erasure = createErasure({ ...store, clock: systemClock, log: silentLog });
  onTestFinished(() => erasure.close());
  await erasure.start();
  await fill();
  const traces = () => tracesOf(dirname(store.place.path), [sentinel]);
  expect(await traces()).not.toEqual([]);
  await store.db.transaction().execute(async (tx) => {
    await tx.deleteFrom("folders").execute();
    await erasure.prepare(tx);
  });
  expect(await erasure.finish()).toBe("done");
  expect(await traces()).toEqual([]);
});
