import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";

/** Accounts, tokens, folders, configured agents, and sessions with their aliases, queued prompts and idempotency keys. */
export const firstMigration: Migration = {
  async up(db) {
    await createAccess(db);
    await createSessions(db);
  },
};

async function createAccess({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("accounts")
    .addColumn("account_id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("is_owner", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createIndex("accounts_one_owner")
    .unique()
    .on("accounts")
    .column("is_owner")
    .where("is_owner", "=", 1)
    .execute();
  await schema
    .createTable("personal_tokens")
    .addColumn("token_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("token_hash", "text", (c) => c.notNull().unique())
    .addColumn("scopes", "text", (c) => c.notNull())
    .addColumn("folders", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("last_used_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .execute();
  await schema.createIndex("personal_tokens_by_account").on("personal_tokens").column("account_id").execute();
  await schema
    .createTable("folders")
    .addColumn("path", "text", (c) => c.primaryKey())
    .addColumn("scopes", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("configured_agents")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("binary", "text")
    .addColumn("is_default", "integer", (c) => c.notNull())
    .addColumn("configured_at", "bigint", (c) => c.notNull())
    .execute();
}

async function createSessions({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("sessions")
    .addColumn("session_id", "text", (c) => c.primaryKey())
    .addColumn("node_id", "text", (c) => c.notNull())
    .addColumn("agent", "text", (c) => c.notNull())
    .addColumn("dir", "text", (c) => c.notNull())
    .addColumn("title", "text")
    .addColumn("model", "text")
    .addColumn("permission_mode", "text", (c) => c.notNull())
    .addColumn("transcript_path", "text")
    .addColumn("launch_id", "text")
    .addColumn("terminal_id", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .addColumn("closed_at", "bigint")
    .addColumn("exit_code", "bigint")
    .addColumn("signal", "text")
    .addColumn("last_screen", "text")
    .addColumn("continued_by", "text")
    .execute();
  await schema.createIndex("sessions_by_update").on("sessions").columns(["updated_at", "session_id"]).execute();
  await schema.createIndex("sessions_by_terminal").on("sessions").column("terminal_id").execute();
  await schema.createIndex("sessions_by_launch").on("sessions").column("launch_id").execute();
  await schema
    .createTable("session_aliases")
    .addColumn("alias", "text", (c) => c.primaryKey())
    .addColumn("session_id", "text", (c) =>
      c.notNull().references("sessions.session_id").onUpdate("cascade").onDelete("cascade"),
    )
    .execute();
  await schema.createIndex("session_aliases_by_session").on("session_aliases").column("session_id").execute();
  await schema
    .createTable("queued_prompts")
    .addColumn("prompt_id", "text", (c) => c.primaryKey())
    .addColumn("session_id", "text", (c) =>
      c.notNull().references("sessions.session_id").onUpdate("cascade").onDelete("cascade"),
    )
    .addColumn("position", "bigint", (c) => c.notNull())
    .addColumn("prompt", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("sent_at", "bigint")
    .addUniqueConstraint("queued_prompts_in_order", ["session_id", "position"])
    .execute();
  await schema
    .createTable("idempotency_keys")
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("idempotency_key", "text", (c) => c.notNull())
    .addColumn("request_hash", "text", (c) => c.notNull())
    .addColumn("session_id", "text") // no reference: the row may be written before its session's row
    .addColumn("prompt_id", "text")
    .addColumn("started", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("idempotency_keys_key", ["account_id", "idempotency_key"])
    .execute();
  await schema.createIndex("idempotency_keys_by_age").on("idempotency_keys").column("created_at").execute();
}
