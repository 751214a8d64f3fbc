import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore } from "../../test/support/database.ts";
import {
  catalogPlaceOf,
  openTestCatalog,
  openTestCatalogReader,
  transcriptRow,
} from "../../test/support/test-catalog.ts";
import { catalogVersion } from "./catalog-tables.ts";

const row = transcriptRow({ file_key: "1:2", size_bytes: 5_000_000_000, title: "One", dir: "/work" });

describeOnBothStores("the catalog's database", (openStore) => {
  test("can be used by two connections at once, and keeps its rows", async () => {
    const place = catalogPlaceOf(await openStore());
    const [one, two] = await Promise.all([openTestCatalog(place), openTestCatalog(place)]);
    await one.db.insertInto("transcripts").values(row).execute();
    expect(await two.db.selectFrom("transcripts").selectAll().execute()).toEqual([row]);
    await one.close();
    const again = await openTestCatalog(place);
    expect(await again.db.selectFrom("transcripts").select("title").execute()).toEqual([{ title: "One" }]);
  });

  test("can be read together with the store's tables", async () => {
    const store = await openStore();
    const place = catalogPlaceOf(store);
    const writer = await openTestCatalog(place);
    await writer.db.insertInto("transcripts").values(row).execute();
    await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    const reader = await openTestCatalogReader(place);
    const joined = await reader.db
      .selectFrom("transcripts")
      .innerJoin("folders", "folders.path", "transcripts.dir")
      .select(["transcripts.title", "folders.created_at"])
      .execute();
    expect(joined).toEqual([{ title: "One", created_at: 1 }]);
  });

  test("does not block the store's writers while it is written", async () => {
    const store = await openStore();
    const { db } = await openTestCatalog(catalogPlaceOf(store));
    await db.transaction().execute(async (tx) => {
      await tx.insertInto("transcripts").values(row).execute();
      await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    });
    expect(await store.db.selectFrom("folders").select("path").execute()).toEqual([{ path: "/work" }]);
  });

  test("is rebuilt when another version wrote it, and leaves the store unchanged", async () => {
    const store = await openStore();
    const place = catalogPlaceOf(store);
    await store.db.insertInto("folders").values({ path: "/work", scopes: "[]", created_at: 1 }).execute();
    const first = await openTestCatalog(place);
    await first.db.insertInto("transcripts").values(row).execute();
    await first.db.updateTable("catalog_format").set({ version: "0" }).execute();
    await first.close();
    const { db } = await openTestCatalog(place);
    expect(await db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
    expect(await db.selectFrom("catalog_format").selectAll().execute()).toEqual([{ version: catalogVersion }]);
    expect(await store.db.selectFrom("folders").select("path").execute()).toEqual([{ path: "/work" }]);
  });

  test("is empty after a reset, also for an open connection", async () => {
    const place = catalogPlaceOf(await openStore());
    const database = await openTestCatalog(place);
    const other = await openTestCatalog(place);
    await database.db.insertInto("transcripts").values(row).execute();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toHaveLength(1);
    await database.reset();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
    await database.db.insertInto("transcripts").values(row).execute();
    expect(await other.db.selectFrom("transcripts").selectAll().execute()).toHaveLength(1);
  });
});

test("a catalog file that is not a database is replaced", async () => {
  const place = catalogPlaceOf(await openSqliteTestStore());
  await writeFile(place.path, "Dear reader, this is no database but a letter. ".repeat(50));
  const { db } = await openTestCatalog(place);
  expect(await db.selectFrom("transcripts").selectAll().execute()).toEqual([]);
});
