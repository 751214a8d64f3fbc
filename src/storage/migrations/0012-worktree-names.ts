import type { Migration } from "kysely/migration";

/** A folder's template for the directory names of worktrees. */
export const worktreeNamesMigration: Migration = {
  async up({ schema }) {
    await schema
      .alterTable("folders")
      .addColumn("worktree_name", "text", (c) => c.notNull().defaultTo("{branch}"))
      .execute();
  },
};
