import type { Migration } from "kysely/migration";

/** The accounts and credentials that queued prompts and uploaded files, and whether a queued command starts a turn. */
export const promptOwnersMigration: Migration = {
  async up({ schema }) {
    await schema.alterTable("queued_prompts").addColumn("asked_by", "text").execute();
    await schema
      .alterTable("queued_prompts")
      .addColumn("starts_turn", "integer", (c) => c.notNull().defaultTo(0))
      .execute();
    await schema.alterTable("attachments").addColumn("added_by", "text").execute();
  },
};
