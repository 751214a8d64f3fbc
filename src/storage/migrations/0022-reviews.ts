import type { Migration } from "kysely/migration";

/** Review comments on sessions' changes, and the files that an account has viewed. */
export const reviewsMigration: Migration = {
  async up({ schema }) {
    // No references to `sessions`: sessions found in an agent's transcripts have no record.
    await schema
      .createTable("review_comments")
      .addColumn("comment_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("agent", "text", (c) => c.notNull())
      .addColumn("session_id", "text", (c) => c.notNull())
      .addColumn("author_kind", "text", (c) => c.notNull())
      .addColumn("author_session_id", "text")
      .addColumn("path", "text", (c) => c.notNull())
      .addColumn("side", "text", (c) => c.notNull())
      .addColumn("anchor", "text", (c) => c.notNull())
      .addColumn("body", "text", (c) => c.notNull())
      .addColumn("state", "text", (c) => c.notNull())
      .addColumn("send_key", "text")
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("updated_at", "bigint", (c) => c.notNull())
      .execute();
    await schema
      .createIndex("review_comments_of_session")
      .on("review_comments")
      .columns(["account_id", "session_id"])
      .execute();
    await schema
      .createTable("review_viewed")
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("agent", "text", (c) => c.notNull())
      .addColumn("session_id", "text", (c) => c.notNull())
      .addColumn("path", "text", (c) => c.notNull())
      .addColumn("version", "text", (c) => c.notNull())
      .addColumn("viewed_at", "bigint", (c) => c.notNull())
      .addPrimaryKeyConstraint("review_viewed_key", ["account_id", "session_id", "agent", "path"])
      .execute();
  },
};
