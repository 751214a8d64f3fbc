import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { catalogPlaceOf, openTestCatalog } from "../../test/support/test-catalog.ts";
import { emptyCatalogJournal, prepareForWriting, rewriteCatalog } from "./catalog-database.ts";
import { createTextIndex, createTextStore } from "./text-index.ts";

/** A fragment that occurs nowhere else, long enough to count as a trace. */
const traceLength = 9;

function newSentinel(): string {
  return Array.from({ length: 20 }, () => "bcdfghjklmnpqrstvwxz"[randomInt(20)]).join("");
}

function isTraced(files: string, sentinel: string): boolean {
  for (let at = 0; at + traceLength <= sentinel.length; at++) {
    if (files.includes(sentinel.slice(at, at + traceLength))) return true;
  }
  return false;
}

async function openCatalog() {
  const place = catalogPlaceOf(await openSqliteTestStore());
  const { path } = place;
  const database = await openTestCatalog(place);
  await prepareForWriting(database);
  const index = createTextIndex(database.db, database.dialect);
  return {
    database,
    path,
    async say(transcriptId: number, sentinel: string): Promise<void> {
      const filler = Array.from({ length: 100 }, () => newSentinel().slice(0, 6)).join(" ");
      await index.add(transcriptId, [{ turnIndex: 0, role: "user", text: `${sentinel.toUpperCase()} ${filler}` }]);
      await index.setHead(transcriptId, { title: `About ${sentinel}`, firstMessage: sentinel });
    },
    remove: (transcriptId: number) => index.remove(transcriptId),
    find: (sentinel: string) =>
      createTextStore(database.db, "sqlite").having("parts", [{ words: [sentinel], prefix: false }]),
    async files(): Promise<string> {
      const files = await Promise.all([path, `${path}-wal`].map((file) => readFile(file)));
      return Buffer.concat(files).toString("latin1").toLowerCase();
    },
  };
}

test("text removed from the index is in no file, and the rest is found", { timeout: 60_000 }, async () => {
  const { database, say, remove, find, files } = await openCatalog();
  const sentinels = Array.from({ length: 90 }, newSentinel);
  for (const [id, sentinel] of sentinels.entries()) await say(id, sentinel);
  const gone = sentinels.filter((_, id) => id % 3 === 0);
  for (const id of sentinels.keys()) if (id % 3 === 0) await remove(id);
  const before = await files();
  expect(gone.filter((sentinel) => isTraced(before, sentinel))).toHaveLength(gone.length);
  await rewriteCatalog(database);
  expect(await emptyCatalogJournal(database)).toBe(true);
  const after = await files();
  expect(gone.filter((sentinel) => isTraced(after, sentinel))).toEqual([]);
  for (const [id, sentinel] of sentinels.entries()) expect(await find(sentinel)).toHaveLength(id % 3 === 0 ? 0 : 1);
});

test("text removed from a freshly merged index is gone too", async () => {
  const { database, say, remove, files } = await openCatalog();
  const sentinel = newSentinel();
  await say(1, sentinel);
  await say(2, newSentinel());
  await rewriteCatalog(database);
  await remove(1);
  await rewriteCatalog(database);
  expect(await emptyCatalogJournal(database)).toBe(true);
  expect(isTraced(await files(), sentinel)).toBe(false);
});

test("a reader delays emptying the journal, but not rewriting the file", async () => {
  const { database, path, say, remove } = await openCatalog();
  await say(1, newSentinel());
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec("begin");
  reader.prepare("select count(*) from text_parts").all();
  await remove(1);
  await rewriteCatalog(database);
  expect(await emptyCatalogJournal(database)).toBe(false);
  reader.close();
  expect(await emptyCatalogJournal(database)).toBe(true);
});
