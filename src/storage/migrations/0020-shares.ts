import type { Migration } from "kysely/migration";

/** Links to read one session. */
export const sharesMigration: Migration = {
  async up(db) {
    await db.schema
      .createTable("shares")
      .addColumn("share_id", "text", (c) => c.primaryKey())
      .addColumn("secret_hash", "text", (c) => c.notNull().unique())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("session_id", "text", (c) => c.notNull())
      .addColumn("token_id", "text")
      .addColumn("app_id", "text")
      .addColumn("folders", "text")
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("expires_at", "bigint", (c) => c.notNull())
      .addColumn("first_opened_at", "bigint")
      .addColumn("opens", "integer", (c) => c.notNull().defaultTo(0))
      .execute();
    await db.schema.createIndex("shares_account_session").on("shares").columns(["account_id", "session_id"]).execute();
  },
};
