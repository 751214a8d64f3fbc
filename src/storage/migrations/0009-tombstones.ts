import { SqliteAdapter, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Deleted memory entries, so that a restored backup does not bring them back. */
export const tombstonesMigration: Migration = {
  async up(db) {
    await db.schema
      .createTable("log_tombstones")
      .addColumn("log_hash", "text", (c) => c.primaryKey())
      .addColumn("deleted_at", "bigint", (c) => c.notNull())
      .$call((table) =>
        db.getExecutor().adapter instanceof SqliteAdapter ? table.modifyEnd(sql`without rowid`) : table,
      )
      .execute();
  },
};
