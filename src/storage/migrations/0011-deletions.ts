import { SqliteAdapter, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Memory deletions that take several transactions, and their remaining entries. */
export const deletionsMigration: Migration = {
  async up(db) {
    const count = ["logs", "episodes", "statements", "entities", "facts"] as const;
    let table = db.schema
      .createTable("log_deletions")
      .addColumn("deletion_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("plan", "text", (c) => c.notNull())
      .addColumn("is_decided", "integer", (c) => c.notNull())
      .addColumn("begun_at", "bigint", (c) => c.notNull());
    for (const column of count) table = table.addColumn(column, "bigint", (c) => c.notNull().defaultTo(0));
    await table.execute();
    await db.schema.createIndex("log_deletions_by_account").on("log_deletions").column("account_id").execute();
    await db.schema
      .createTable("log_deletion_entries")
      .addColumn("log_id", "text", (c) => c.primaryKey())
      .addColumn("deletion_id", "text", (c) => c.notNull().references("log_deletions.deletion_id").onDelete("cascade"))
      .$call((entries) =>
        db.getExecutor().adapter instanceof SqliteAdapter ? entries.modifyEnd(sql`without rowid`) : entries,
      )
      .execute();
    await db.schema
      .createIndex("log_deletion_entries_by_deletion")
      .on("log_deletion_entries")
      .columns(["deletion_id", "log_id"])
      .execute();
  },
};
