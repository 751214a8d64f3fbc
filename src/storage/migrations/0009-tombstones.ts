import { SqliteAdapter, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What was deleted from the memory, so that a restored backup does not bring it back. */
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
