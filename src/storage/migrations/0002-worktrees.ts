import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Git worktrees that the gateway created for sessions, and their state. */
export const worktreesMigration: Migration = {
  async up({ schema }) {
    await schema
      .createTable("worktrees")
      .addColumn("worktree_id", "text", (c) => c.primaryKey())
      .addColumn("session_id", "text", (c) => c.notNull().unique()) // no reference: the row is written before its session's row
      .addColumn("node_id", "text", (c) => c.notNull())
      .addColumn("state", "text", (c) => c.notNull())
      .addColumn("repository", "text", (c) => c.notNull())
      .addColumn("common_dir", "text", (c) => c.notNull())
      .addColumn("path", "text", (c) => c.notNull())
      .addColumn("sub_folder", "text", (c) => c.notNull())
      .addColumn("branch", "text", (c) => c.notNull())
      .addColumn("base_branch", "text", (c) => c.notNull())
      .addColumn("base_commit", "text", (c) => c.notNull())
      .addColumn("git_dir", "text")
      .addColumn("inode", "text")
      .addColumn("included", "text", (c) => c.notNull())
      .addColumn("closing", "text")
      .addColumn("rescue_ref", "text")
      .addColumn("rescue_commit", "text")
      .addColumn("rescue_base", "text")
      .addColumn("rescue_files", "bigint")
      .addColumn("rescued_at", "bigint")
      .addColumn("ignored_lost", "text")
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("updated_at", "bigint", (c) => c.notNull())
      .execute();
    await schema
      .createIndex("worktrees_one_at_a_path")
      .unique()
      .on("worktrees")
      .column("path")
      .where(sql.ref("state"), "<>", "removed")
      .execute();
    await schema.createIndex("worktrees_by_path").on("worktrees").column("path").execute();
  },
};
