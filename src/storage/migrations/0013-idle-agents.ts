import type { Migration } from "kysely/migration";

/** Agents that were ended because they were idle, and sessions whose idle agents are kept running. */
export const idleAgentsMigration: Migration = {
  async up(db) {
    await db.schema
      .alterTable("sessions")
      .addColumn("keep_running", "integer", (c) => c.notNull().defaultTo(0))
      .execute();
    await db.schema.alterTable("sessions").addColumn("ended_after_idle_ms", "bigint").execute();
  },
};
