import type { Migration } from "kysely/migration";

/** Comparisons of agents on the same prompt. */
export const comparisonsMigration: Migration = {
  async up({ schema }) {
    await schema
      .createTable("comparisons")
      .addColumn("comparison_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("idempotency_key", "text")
      .addColumn("request_hash", "text", (c) => c.notNull())
      .addColumn("title", "text")
      .addColumn("dir", "text", (c) => c.notNull())
      .addColumn("base_branch", "text", (c) => c.notNull())
      .addColumn("base_commit", "text", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("kept_position", "integer")
      .execute();
    await schema
      .createIndex("comparisons_of_request")
      .on("comparisons")
      .columns(["account_id", "idempotency_key"])
      .unique()
      .execute();
    await schema
      .createTable("comparison_sessions")
      .addColumn("comparison_id", "text", (c) =>
        c.notNull().references("comparisons.comparison_id").onDelete("cascade"),
      )
      .addColumn("position", "integer", (c) => c.notNull())
      .addColumn("agent", "text", (c) => c.notNull())
      .addColumn("model", "text")
      .addColumn("session_id", "text")
      .addColumn("error_code", "text")
      .addColumn("error_detail", "text")
      .addPrimaryKeyConstraint("comparison_sessions_key", ["comparison_id", "position"])
      .execute();
    await schema.createIndex("comparison_sessions_session").on("comparison_sessions").columns(["session_id"]).execute();
  },
};
