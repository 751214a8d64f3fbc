import { readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestDatabaseUrl } from "../../test/support/postgres.ts";
import { readStoreFixture, schemaUpTo, tablesUpTo } from "../../test/support/store-fixtures.ts";
import { makeTestFolder } from "../../test/support/test-folder.ts";
import { silentLog } from "../core/log.ts";
import { type DatabasePlace, openDatabase, withRawDatabase } from "./database.ts";
import { removeOldCopies } from "./kept-copies.ts";
import { appliedMigrations, applyMigrations, migrationNames } from "./migrate.ts";
import { tableNames } from "./store-rows.ts";

async function newFolder(): Promise<string> {
  const folder = makeTestFolder("upgrade");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** All tests in this file share one database, because creating it takes longer than running them. */
let postgresUrl: Promise<string> | null = null;

/** The store as written by a version whose newest migration was `name`. */
async function storeOf(name: string, kind: "sqlite" | "postgres"): Promise<DatabasePlace> {
  const fixture = await readStoreFixture(name);
  if (kind === "sqlite") {
    const place = { url: null, path: join(await newFolder(), "postern.db") };
    const database = new DatabaseSync(place.path);
    for (const statement of [...fixture.tables, ...fixture.rows]) database.exec(statement);
    database.close();
    return place;
  }
  postgresUrl ??= createTestDatabaseUrl();
  const place = { url: await postgresUrl, path: "unused" };
  await withRawDatabase(place, ({ db }) =>
    db.transaction().execute(async (trx) => {
      await sql`drop schema public cascade`.execute(trx);
      await sql`create schema public`.execute(trx);
      await applyMigrations(trx, schemaUpTo(name));
      for (const statement of fixture.rows) await sql.raw(statement).execute(trx);
    }),
  );
  return place;
}

type Rows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

async function rowsOf(place: DatabasePlace): Promise<Rows> {
  return withRawDatabase(place, async ({ db }) => {
    const there = new Set((await db.introspection.getTables()).map(({ name }) => name));
    const rows: Record<string, readonly Readonly<Record<string, unknown>>[]> = {};
    for (const table of tableNames) {
      if (!there.has(table)) continue;
      rows[table] = (await sql<Readonly<Record<string, unknown>>>`select * from ${sql.table(table)}`.execute(db)).rows;
    }
    return rows;
  });
}

describe.for(["sqlite", "postgres"] as const)("a store on %s", (kind) => {
  test.for(migrationNames)("of %s is upgraded to this version with all its rows", async (name) => {
    const place = await storeOf(name, kind);
    const before = await rowsOf(place);
    expect(Object.values(before).flat().length).toBeGreaterThan(7);
    const { db, close } = await openDatabase({ ...place, log: silentLog });
    expect(await appliedMigrations(db)).toEqual(migrationNames);
    const tables = (await db.introspection.getTables()).map((table) => table.name);
    expect(tables.toSorted()).toEqual([...tableNames].toSorted());
    await close();
    const after = await rowsOf(place);
    for (const [table, rows] of Object.entries(before)) expect(after[table], table).toMatchObject(rows);
    expect(after["recordings"]).toMatchObject([{ session_id: after["sessions"]?.[0]?.["session_id"] }]);
  });
});

test.for(migrationNames)("%s makes the tables that it made when it was released", async (name) => {
  const { tables } = await readStoreFixture(name);
  expect(tables.filter((statement) => statement.startsWith("CREATE"))).toEqual(await tablesUpTo(name));
});

describe("before the SQLite file is changed", () => {
  async function open(place: DatabasePlace, copies: string) {
    const database = await openDatabase({ ...place, copies, log: silentLog });
    await database.close();
  }

  test("it is copied, for its owner only, and a store that is new or up to date is not", async () => {
    const place = await storeOf("0006-oauth", "sqlite");
    const copies = join(await newFolder(), "backups");
    await open(place, copies);
    expect(await readdir(copies)).toEqual(["postern.db.before-0006-oauth"]);
    const copy = join(copies, "postern.db.before-0006-oauth");
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    expect(await rowsOf({ url: null, path: copy })).toEqual(await rowsOf(await storeOf("0006-oauth", "sqlite")));
    await rm(copies, { recursive: true });
    await open(place, copies);
    await open({ url: null, path: join(await newFolder(), "postern.db") }, copies);
    await expect(readdir(copies)).rejects.toThrow("ENOENT");
  });

  test("and a migration that fails leaves the store as it was, usable by the version before", async () => {
    const place = await storeOf("0007-logs", "sqlite");
    const database = new DatabaseSync(place.path);
    database.exec("create table log_tombstones (mine text)");
    database.close();
    const before = await rowsOf(place);
    const copies = join(await newFolder(), "backups");
    await expect(open(place, copies)).rejects.toMatchObject({ code: "store_unavailable" });
    expect(await rowsOf(place)).toEqual(before);
    expect(await withRawDatabase(place, ({ db }) => appliedMigrations(db))).toEqual(schemaUpTo("0007-logs"));
    expect(await readdir(copies)).toEqual(["postern.db.before-0007-logs"]);
  });

  test("a copy that cannot be made stops it", async () => {
    const place = await storeOf("0007-logs", "sqlite");
    const copies = join(await newFolder(), "backups");
    await writeFile(copies, "a file in its place");
    await expect(open(place, copies)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("Nothing was changed"),
    });
    expect(await withRawDatabase(place, ({ db }) => appliedMigrations(db))).toEqual(schemaUpTo("0007-logs"));
  });

  test("three copies are kept, for thirty days, and nothing else is touched", async () => {
    const copies = await newFolder();
    const dayMs = 86_400_000;
    const now = Date.now();
    const ages = {
      "0001-first": 1,
      "0002-worktrees": 2,
      "0003-events": 3,
      "0004-browser-sessions": 31,
      "0005-recordings": 29,
    };
    for (const [name, days] of Object.entries(ages)) {
      const path = join(copies, `postern.db.before-${name}`);
      await writeFile(path, "");
      await utimes(path, new Date(), new Date(now - days * dayMs));
    }
    await writeFile(join(copies, "mine.db"), "");
    await removeOldCopies(copies, now);
    const kept = [
      "mine.db",
      "postern.db.before-0001-first",
      "postern.db.before-0002-worktrees",
      "postern.db.before-0003-events",
    ];
    expect(await readdir(copies)).toEqual(kept);
    await removeOldCopies(copies, now + 28.5 * dayMs);
    expect(await readdir(copies)).toEqual(["mine.db", "postern.db.before-0001-first"]);
  });
});
