import type { Migration } from "kysely/migration";

/** Sessions whose earlier content is not indexed again. */
export const forgottenMigration: Migration = {
  async up(db) {
    await db.schema
      .createTable("forgotten_sessions")
      .addColumn("agent", "text", (c) => c.notNull())
      .addColumn("session_id", "text", (c) => c.notNull())
      .addColumn("forgotten_at", "bigint", (c) => c.notNull())
      .addColumn("erased_at", "bigint")
      .addPrimaryKeyConstraint("forgotten_sessions_key", ["agent", "session_id"])
      .execute();
  },
};
