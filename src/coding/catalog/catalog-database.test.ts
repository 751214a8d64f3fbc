import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../../test/support/database.ts";
import { silentLog } from "../../core/log.ts";
import { type CatalogDatabase, type CatalogPlace, openCatalogDatabase, openCatalogReader } from "./catalog-database.ts";
import { catalogVersion } from "./catalog-tables.ts";

function placeOf({ place }: TestStore): CatalogPlace {
  return { url: place.url, path: join(dirname(place.path), "catalog.db"), storePath: place.path };
}

async function openCatalog(place: CatalogPlace): Promise<CatalogDatabase> {
  const database = await openCatalogDatabase(place, silentLog);
  onTestFinished(() => database.close());
  return database;
}

const row = {
  transcript_id: 1,
  path: "/t/a.jsonl",
  agent: "claude-code",
  format: "claude",
  session_id: "s1",
  kind: "session",
  listed: 1,
  file_key: "1:2",
  size_bytes: 5_000_000_000,
  modified_at: 1,
  parsed_offset: 0,
  inside_too_long: 0,
  fingerprint: "",
  reader_state: null,
  complete: 1,
  unreadable: 0,
  skipped_lines: 0,
  dir: "/work",
  branch: null,
  model: null,
  title: "One",
  first_prompt: null,
  created_at: null,
  updated_at: 1_763_700_000_123,
  turn_count: 2,
} as const;

describeOnBothStores("the catalog's database", (openStore) => {
  test("is there for two connections at once, and keeps its rows", async () => {
    const place = placeOf(await openStore());
    const [one, two] = await Promise.all([openCatalog(place), openCatalog(place)]);
    await one.db.insertInto("transcripts").values(row).execute();
    expect(await two.db.selectFrom("transcripts").selectAll().execute()).toEqual([row]);
    await one.close();
    const again = await openCatalog(place);
    expect(await again.db.selectFrom("transcripts").select("title").execute()).toEqual([{ title: "One" }]);
  });

  test("is read together with the store's tables", async () => {
    const store = await openStore();
    const place = placeOf(store);
    const writer = await openCatalog(place);
    await writer.db.insertInto("transcripts").values(row).execute();
    await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    const reader = await openCatalogReader(place, silentLog);
    onTestFinished(() => reader.close());
    const joined = await reader.db
      .selectFrom("transcripts")
      .innerJoin("folders", "folders.path", "transcripts.dir")
      .select(["transcripts.title", "folders.created_at"])
      .execute();
    expect(joined).toEqual([{ title: "One", created_at: 1 }]);
  });

  test("leaves the store's writers alone while it is written", async () => {
    const store = await openStore();
    const { db } = await openCatalog(placeOf(store));
    await db.transaction().execute(async (tx) => {
      await tx.insertInto("transcripts").values(row).execute();
      await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    });
    expect(await store.db.selectFrom("folders").select("path").execute()).toEqual([{ path: "/work" }]);
  });

  test("is made anew when another version wrote it, and the store is left as it was", async () => {
    const store = await openStore();
    const place = placeOf(store);
    await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    const first = await openCatalog(place);
    await first.db.insertInto("transcripts").values(row).execute();
    await first.db.updateTable("catalog_format").set({ version: "0" }).execute();
    await first.close();
    const { db } = await openCatalog(place);
    expect(await db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
    expect(await db.selectFrom("catalog_format").selectAll().execute()).toEqual([{ version: catalogVersion }]);
    expect(await store.db.selectFrom("folders").select("path").execute()).toEqual([{ path: "/work" }]);
  });

  test("is empty after a reset, also for a connection that was open", async () => {
    const place = placeOf(await openStore());
    const database = await openCatalog(place);
    const other = await openCatalog(place);
    await database.db.insertInto("transcripts").values(row).execute();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toHaveLength(1);
    await database.reset();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
    await database.db.insertInto("transcripts").values(row).execute();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toHaveLength(1);
  });
});

test("a catalog file that is no database is replaced", async () => {
  const place = placeOf(await openSqliteTestStore());
  await writeFile(place.path, "Dear reader, this is no database but a letter. ".repeat(50));
  const { db } = await openCatalog(place);
  expect(await db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
});
