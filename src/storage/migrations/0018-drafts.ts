import type { Migration } from "kysely/migration";

/** Prompts that an account has typed but not sent. Agent and ID are empty in a draft for a new session. */
export const draftsMigration: Migration = {
  async up(db) {
    await db.schema
      .createTable("session_drafts")
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("agent", "text", (c) => c.notNull())
      .addColumn("session_id", "text", (c) => c.notNull())
      .addColumn("text", "text", (c) => c.notNull())
      .addColumn("version", "bigint", (c) => c.notNull())
      .addPrimaryKeyConstraint("session_drafts_key", ["account_id", "session_id", "agent"])
      .execute();
  },
};
