import { sql } from "kysely";
import { expect, test } from "vitest";
import { openPostgresTestStore } from "../../test/support/database.ts";
import { writeFor } from "./logs-database.ts";

test("who waits for another's write on PostgreSQL sees it, whatever isolation is the database's own", {
  timeout: 60_000,
}, async () => {
  const { db, openAgain } = await openPostgresTestStore();
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
  await sql`alter database ${sql.id(rows[0]?.name ?? "")} set default_transaction_isolation = 'repeatable read'`.execute(
    db,
  );
  const on = { db: (await openAgain()).db, dialect: "postgres" as const };
  const inserting = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const first = writeFor(on, "a", async (tx) => {
    inserting.resolve();
    await mayEnd.promise;
    await tx.db.insertInto("log_marks").values({ name: "one", event_id: "e", at: 1 }).execute();
  });
  await inserting.promise;
  const second = writeFor(on, "a", (tx) => tx.db.selectFrom("log_marks").select("name").execute());
  const isWaiting = async () => {
    const waiting = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted`.execute(db);
    return waiting.rows.length;
  };
  await expect.poll(isWaiting, { timeout: 10_000 }).toBe(1);
  mayEnd.resolve();
  await first;
  expect(await second).toEqual([{ name: "one" }]);
});
