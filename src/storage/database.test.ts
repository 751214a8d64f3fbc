import { execFile } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { beginTransaction } from "../../test/support/open-transaction.ts";
import { silentLog } from "../core/log.ts";
import { openDatabase } from "./database.ts";
import { inspectStore } from "./inspect.ts";

const run = promisify(execFile);
const openStoreProgram = fileURLToPath(new URL("../../test/support/open-store.ts", import.meta.url));

const session = {
  session_id: "s1",
  node_id: "n1",
  agent: "claude-code",
  dir: "/work",
  title: null,
  model: null,
  permission_mode: "ask",
  transcript_path: null,
  launch_id: null,
  terminal_id: null,
  created_at: 1_763_700_000_123,
  updated_at: 1_763_700_000_123,
  closed_at: null,
  exit_code: null,
  signal: null,
  last_screen: null,
  continued_by: null,
};

/** The state before the first migration. */
async function dropEverything({ db, dialect }: TestStore): Promise<void> {
  // Drops them in any order, although tables reference one another.
  const cascade = dialect === "postgres" ? sql` cascade` : sql``;
  if (dialect === "sqlite") await sql`pragma foreign_keys = off`.execute(db);
  for (const { name } of await db.introspection.getTables({ withInternalKyselyTables: true })) {
    await sql`drop table ${sql.table(name)}${cascade}`.execute(db);
  }
}

describeOnBothStores("the store", (openStore) => {
  test("gives back what it was given: times as numbers, text with emoji and newlines", async () => {
    const { db } = await openStore();
    const row = { ...session, title: "naïve 🦉\nsecond line", updated_at: Number.MAX_SAFE_INTEGER };
    await db.insertInto("sessions").values(row).execute();
    expect(await db.selectFrom("sessions").selectAll().executeTakeFirst()).toEqual({
      ...row,
      keep_running: 0,
      ended_after_idle_ms: null,
    });
    const sums = await db
      .selectFrom("sessions")
      .select(({ fn }) => [fn.countAll<number>().as("rows"), fn.sum<number>("created_at").as("sum")])
      .executeTakeFirst();
    expect(sums).toEqual({ rows: 1, sum: session.created_at });
  });

  test("keeps its rows when it is opened again", async () => {
    const store = await openStore();
    await store.db.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute();
    await store.close();
    const { db } = await store.openAgain();
    expect(await db.selectFrom("folders").select("path").execute()).toEqual([{ path: "/a" }]);
  });

  test("answers what is read while something is written, as it was before; what else is written waits", async () => {
    const { db } = await openStore();
    const paths = async () =>
      (await db.selectFrom("folders").select("path").orderBy("path").execute()).map((row) => row.path);
    const add = (on: typeof db, path: string) =>
      on
        .insertInto("folders")
        .values({ path, scopes: "[]", created_at: 1 })
        .onConflict((on) => on.doNothing())
        .execute();
    const end = await beginTransaction(db, (tx) => add(tx, "/a"));
    const waiting = add(db, "/a");
    expect(await paths()).toEqual([]);
    const { rows } = await sql<{ n: number }>`with all_folders as (select 1 from folders)
      select count(*) as n from all_folders`.execute(db);
    expect(rows).toEqual([{ n: 0 }]);
    await end();
    expect(await paths()).toEqual(["/a"]);
    await waiting;
    await sql`with one(path) as (select '/b') insert into folders (path, scopes, created_at) select path, '[]', 1 from one`.execute(
      db,
    );
    expect(await paths()).toEqual(["/a", "/b"]);
  });

  test("takes a session's aliases and queued prompts along when its id changes, and drops them with it", async () => {
    const { db } = await openStore();
    await db.insertInto("sessions").values(session).execute();
    await db.insertInto("session_aliases").values({ alias: "early", session_id: "s1" }).execute();
    await db
      .insertInto("queued_prompts")
      .values({
        prompt_id: "p1",
        session_id: "s1",
        position: 0,
        prompt: "hi",
        state: "queued",
        created_at: 1,
        sent_at: null,
        starts_turn: 0,
      })
      .execute();
    await db.updateTable("sessions").set({ session_id: "s2" }).where("session_id", "=", "s1").execute();
    expect(await db.selectFrom("session_aliases").selectAll().execute()).toEqual([
      { alias: "early", session_id: "s2" },
    ]);
    expect(await db.selectFrom("queued_prompts").select("session_id").execute()).toEqual([{ session_id: "s2" }]);
    await db.deleteFrom("sessions").execute();
    expect(await db.selectFrom("session_aliases").selectAll().execute()).toEqual([]);
    expect(await db.selectFrom("queued_prompts").selectAll().execute()).toEqual([]);
  });

  test("refuses a second owner, a second prompt at one position and an alias of no session", async () => {
    const { db } = await openStore();
    const owner = { account_id: "a1", name: "owner", is_owner: 1, created_at: 1 };
    await db.insertInto("accounts").values(owner).execute();
    await db
      .insertInto("accounts")
      .values({ ...owner, account_id: "a2", name: "guest", is_owner: 0 })
      .execute();
    await expect(
      db
        .insertInto("accounts")
        .values({ ...owner, account_id: "a3", name: "another" })
        .execute(),
    ).rejects.toThrow(/unique/i);
    await expect(
      db.insertInto("session_aliases").values({ alias: "x", session_id: "missing" }).execute(),
    ).rejects.toThrow(/foreign key/i);
  });

  test("undoes a transaction that failed, whole", async () => {
    const { db } = await openStore();
    const attempt = db.transaction().execute(async (trx) => {
      await trx.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute();
      throw new Error("no");
    });
    await expect(attempt).rejects.toThrow("no");
    expect(await db.selectFrom("folders").selectAll().execute()).toEqual([]);
  });

  test("lets two connections read, then write in one transaction each, at the same time", async () => {
    const store = await openStore();
    const second = await store.openAgain();
    await store.db.insertInto("folders").values({ path: "/count", scopes: "0", created_at: 0 }).execute();
    const addOne = (db: typeof store.db) =>
      db.transaction().execute(async (trx) => {
        const query = trx.selectFrom("folders").select("created_at");
        const { created_at } = await (store.dialect === "postgres"
          ? query.forUpdate()
          : query
        ).executeTakeFirstOrThrow();
        await trx
          .updateTable("folders")
          .set({ created_at: created_at + 1 })
          .execute();
      });
    for (let round = 0; round < 20; round += 1) await Promise.all([addOne(store.db), addOne(second.db)]);
    expect(await store.db.selectFrom("folders").select("created_at").execute()).toEqual([{ created_at: 40 }]);
  });

  test("is made once when six processes open it at the same time", async () => {
    const store = await openStore();
    const { place, db } = store;
    await dropEverything(store);
    const names = ["/1", "/2", "/3", "/4", "/5", "/6"];
    await Promise.all(names.map((name) => run(process.execPath, [openStoreProgram, JSON.stringify(place), name])));
    expect(await db.selectFrom("folders").select("path").orderBy("path").execute()).toEqual(
      names.map((path) => ({ path })),
    );
  });

  test("is left as it was when it cannot be brought to this version", async () => {
    const store = await openStore();
    await dropEverything(store);
    await store.db.schema.createTable("sessions").addColumn("mine", "text").execute();
    await expect(store.openAgain()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("sessions"),
    });
    const tables = await store.db.introspection.getTables();
    expect(tables.map(({ name }) => name)).toEqual(["sessions"]);
  });

  test("is refused when a newer version has written it", async () => {
    const store = await openStore();
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2099-01-01T00:00:00.000Z')`.execute(
      store.db,
    );
    await expect(store.openAgain()).rejects.toMatchObject({
      code: "store_newer",
      message: expect.stringContaining("9999-later"),
    });
  });
});

describe("the SQLite file", () => {
  test("and its journals are readable by their owner only, also where it was not", async () => {
    const store = await openSqliteTestStore();
    await store.db.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute();
    const modes = async (): Promise<readonly string[]> => {
      const paths = [store.place.path, `${store.place.path}-wal`, `${store.place.path}-shm`];
      return Promise.all(paths.map(async (path) => ((await stat(path)).mode & 0o777).toString(8)));
    };
    expect(await modes()).toEqual(["600", "600", "600"]);
  });

  test("is made by several processes at once, none of which fails", async () => {
    const store = await openSqliteTestStore();
    for (let round = 0; round < 3; round += 1) {
      const place = JSON.stringify({ url: null, path: `${store.place.path}-${round}` });
      const names = ["/1", "/2", "/3", "/4"];
      await Promise.all(names.map((name) => run(process.execPath, [openStoreProgram, place, name])));
    }
  });

  test("is durable at every commit and checks its references", async () => {
    const { db } = await openSqliteTestStore();
    const pragma = async (name: string): Promise<unknown> =>
      Object.values((await sql`select * from ${sql.raw(`pragma_${name}`)}`.execute(db)).rows[0] ?? {})[0];
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("foreign_keys")).toBe(1);
  });

  test("that is no store is refused with its path", async () => {
    const store = await openSqliteTestStore();
    const path = join(store.place.path, "..", "letter.txt");
    await writeFile(
      path,
      "Dear reader, this is no database but a letter of more than a hundred characters. ".repeat(20),
    );
    await expect(openDatabase({ url: null, path, log: silentLog })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("letter.txt"),
    });
  });

  test("that lost all or part of its content is refused, and never taken for a new store", async () => {
    const store = await openSqliteTestStore();
    await store.db.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute();
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    const whole = await readFile(store.place.path);
    const path = join(store.place.path, "..", "damaged.db");
    const copies = join(path, "..", "backups");
    for (const size of [0, 1, 50, 100, 511, 512, 4_095, 4_096, 8_192, whole.length - 4_096]) {
      await writeFile(path, whole.subarray(0, size));
      const opening = openDatabase({ url: null, path, copies, log: silentLog });
      await expect(opening, `${size} bytes`).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining(path),
      });
      expect((await stat(path)).size).toBe(size);
      expect((await inspectStore({ url: null, path })).state).toBe("damaged");
    }
    await writeFile(path, "");
    const error = await openDatabase({ url: null, path, copies, log: silentLog }).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/postern restore .*backups.* move .* away/);
  });

  test("is not left behind in parts when it is made", async () => {
    const { place } = await openSqliteTestStore();
    const folder = join(place.path, "..", "fresh");
    const { close } = await openDatabase({ url: null, path: join(folder, "postern.db"), log: silentLog });
    expect((await readdir(folder)).toSorted()).toEqual(["postern.db", "postern.db-shm", "postern.db-wal"]);
    await close();
  });

  test("takes no booleans or objects, which PostgreSQL would store in another way", async () => {
    const { db } = await openSqliteTestStore();
    await expect(sql`select ${true}`.execute(db)).rejects.toThrow(/boolean cannot be stored/);
    await expect(sql`select ${new Date()}`.execute(db)).rejects.toThrow(/object cannot be stored/);
  });
});

test("a PostgreSQL that cannot be reached is named without its password", async () => {
  const opening = openDatabase({ url: "postgres://me:hunter2@127.0.0.1:1/postern", path: "", log: silentLog });
  const error = await opening.catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("postgresql://127.0.0.1:1/postern"),
  });
  expect(String(error)).not.toContain("hunter2");
});

test("a transaction ended by a full disk reports that, and the store keeps working", async () => {
  const { db } = await openSqliteTestStore();
  await sql`pragma max_page_count = 1`.execute(db); // SQLite raises the limit to the file's current size
  const fill = db.transaction().execute(async (trx) => {
    await trx
      .insertInto("sessions")
      .values({ ...session, title: "x".repeat(1_000_000) })
      .execute();
  });
  await expect(fill).rejects.toThrow("database or disk is full");
  await sql`pragma max_page_count = 1000000`.execute(db);
  await db.transaction().execute(async (trx) => void (await trx.insertInto("sessions").values(session).execute()));
  expect(await db.selectFrom("sessions").select("session_id").execute()).toHaveLength(1);
});
