import type { Migration } from "kysely/migration";

/** Standing rules that answer permission requests, and the sessions that got a prompt from a caller who cannot answer them. */
export const permissionRulesMigration: Migration = {
  async up({ schema }) {
    await schema
      .createTable("permission_rules")
      .addColumn("rule_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("creator_kind", "text", (c) => c.notNull())
      .addColumn("creator_credential", "text")
      .addColumn("effect", "text", (c) => c.notNull())
      .addColumn("agent", "text")
      .addColumn("session_id", "text")
      .addColumn("dir", "text", (c) => c.notNull())
      .addColumn("tool", "text", (c) => c.notNull())
      .addColumn("pattern", "text", (c) => c.notNull())
      .addColumn("undriven", "integer", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("expires_at", "bigint")
      .addColumn("uses", "integer", (c) => c.notNull())
      .addColumn("last_used_at", "bigint")
      .execute();
    await schema.createIndex("permission_rules_of_account").on("permission_rules").column("account_id").execute();
    await schema
      .createTable("undriven_sessions")
      .addColumn("session_id", "text", (c) => c.primaryKey())
      .execute();
  },
};
