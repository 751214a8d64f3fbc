import type { Migration } from "kysely/migration";

/** Files for prompts, and which prompts use them. */
export const attachmentsMigration: Migration = {
  async up({ schema }) {
    await schema
      .createTable("attachments")
      .addColumn("attachment_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("session_id", "text") // no reference: a session's record can be deleted before its files
      .addColumn("name", "text", (c) => c.notNull())
      .addColumn("file_name", "text", (c) => c.notNull())
      .addColumn("media_type", "text", (c) => c.notNull())
      .addColumn("size_bytes", "bigint", (c) => c.notNull())
      .addColumn("sha256", "text", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .execute();
    await schema.createIndex("attachments_session").on("attachments").column("session_id").execute();
    await schema.createIndex("attachments_account").on("attachments").column("account_id").execute();
    await schema
      .createTable("prompt_attachments")
      .addColumn("prompt_id", "text", (c) => c.notNull())
      .addColumn("attachment_id", "text", (c) =>
        c.notNull().references("attachments.attachment_id").onDelete("cascade"),
      )
      .addColumn("position", "integer", (c) => c.notNull())
      .addColumn("newly_taken", "integer", (c) => c.notNull())
      .addPrimaryKeyConstraint("prompt_attachments_key", ["prompt_id", "attachment_id"])
      .execute();
    await schema
      .createIndex("prompt_attachments_attachment")
      .on("prompt_attachments")
      .column("attachment_id")
      .execute();
  },
};
