import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";

/** Web Push: the gateway's key, browsers, preferences, waiting notifications, tokens of their actions. */
export const pushMigration: Migration = {
  async up(db) {
    await createPreferences(db);
    await createSubscriptions(db);
    await createQueue(db);
  },
};

async function createPreferences({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("push_keys")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("public_key", "text", (c) => c.notNull())
    .addColumn("sealed", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("push_preferences")
    .addColumn("account_id", "text", (c) => c.primaryKey().references("accounts.account_id").onDelete("cascade"))
    .addColumn("quiet_from", "text")
    .addColumn("quiet_to", "text")
    .addColumn("time_zone", "text")
    .addColumn("desktop_delay_ms", "bigint", (c) => c.notNull())
    .addColumn("show_titles", "integer", (c) => c.notNull())
    .addColumn("show_requests", "integer", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("push_kinds")
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addPrimaryKeyConstraint("push_kinds_key", ["kind", "account_id"])
    .execute();
}

async function createSubscriptions({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("push_subscriptions")
    .addColumn("subscription_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("endpoint_hash", "text", (c) => c.notNull().unique())
    .addColumn("sealed", "text", (c) => c.notNull())
    .addColumn("service", "text", (c) => c.notNull())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("caller_kind", "text", (c) => c.notNull())
    // A browser that is signed out, or whose sign-in expired, receives nothing.
    .addColumn("browser_session_id", "text", (c) =>
      c.references("browser_sessions.browser_session_id").onDelete("cascade"),
    )
    .addColumn("token_id", "text", (c) => c.references("personal_tokens.token_id").onDelete("cascade"))
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("last_used_at", "bigint")
    .addColumn("last_error", "text")
    .execute();
  await schema.createIndex("push_subscriptions_by_account").on("push_subscriptions").column("account_id").execute();
  await schema
    .createIndex("push_subscriptions_by_browser")
    .on("push_subscriptions")
    .column("browser_session_id")
    .execute();
}

async function createQueue({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("push_deliveries")
    .addColumn("subscription_id", "text", (c) =>
      c.notNull().references("push_subscriptions.subscription_id").onDelete("cascade"),
    )
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .addColumn("permission_id", "text")
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("version", "integer", (c) => c.notNull())
    .addColumn("shown", "text")
    .addColumn("held", "integer", (c) => c.notNull())
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("due_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("push_deliveries_key", ["subscription_id", "session_id"])
    .execute();
  await schema
    .createIndex("push_deliveries_by_time")
    .on("push_deliveries")
    .columns(["subscription_id", "state", "due_at"])
    .execute();
  await schema.createIndex("push_deliveries_by_session").on("push_deliveries").column("session_id").execute();
  await schema
    .createTable("push_actions")
    .addColumn("token_hash", "text", (c) => c.primaryKey())
    .addColumn("subscription_id", "text", (c) =>
      c.notNull().references("push_subscriptions.subscription_id").onDelete("cascade"),
    )
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("permission_id", "text", (c) => c.notNull())
    .addColumn("decision", "text", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createIndex("push_actions_by_subscription")
    .on("push_actions")
    .columns(["subscription_id", "permission_id"])
    .execute();
}
