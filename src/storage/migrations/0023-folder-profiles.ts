import type { Migration } from "kysely/migration";

/** How agents start in a folder, and the profiles that its repositories propose. */
export const folderProfilesMigration: Migration = {
  async up({ schema }) {
    await schema
      .createTable("folder_profiles")
      .addColumn("path", "text", (c) => c.primaryKey().references("folders.path").onDelete("cascade"))
      .addColumn("settings", "text", (c) => c.notNull())
      .addColumn("env_names", "text", (c) => c.notNull())
      .addColumn("sealed_env", "text")
      .addColumn("updated_at", "bigint", (c) => c.notNull())
      .execute();
    await schema
      .createTable("profile_proposals")
      .addColumn("repository", "text", (c) => c.primaryKey())
      .addColumn("folder", "text", (c) => c.notNull().references("folders.path").onDelete("cascade"))
      .addColumn("proposed", "text")
      .addColumn("proposed_at", "bigint")
      .addColumn("approved", "text")
      .addColumn("approved_at", "bigint")
      .execute();
    await schema.createIndex("profile_proposals_folder").on("profile_proposals").column("folder").execute();
  },
};
