import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";

/** Session events with a memo per session, and webhooks with their deliveries. */
export const eventsMigration: Migration = {
  async up(db) {
    await createEvents(db);
    await createWebhooks(db);
  },
};

async function createEvents({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("session_events")
    .addColumn("event_id", "text", (c) => c.primaryKey())
    .addColumn("body", "text", (c) => c.notNull())
    .execute();
  await schema
    .createTable("session_event_memos")
    .addColumn("session_id", "text", (c) => c.primaryKey()) // no reference: a memo outlives its session id
    .addColumn("memo", "text", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("event_marks")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("event_id", "text", (c) => c.notNull())
    .execute();
}

async function createWebhooks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("webhooks")
    .addColumn("webhook_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("url", "text", (c) => c.notNull())
    .addColumn("kinds", "text")
    .addColumn("folders", "text")
    .addColumn("secret", "text", (c) => c.notNull())
    .addColumn("failures", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("disabled_at", "bigint")
    .addColumn("disabled_reason", "text")
    .execute();
  await schema
    .createTable("webhook_deliveries")
    .addColumn("webhook_id", "text", (c) => c.notNull().references("webhooks.webhook_id").onDelete("cascade"))
    .addColumn("event_id", "text", (c) => c.notNull())
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("dir", "text", (c) => c.notNull())
    .addColumn("body", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("next_attempt_at", "bigint", (c) => c.notNull())
    .addColumn("last_attempt_at", "bigint")
    .addColumn("last_status", "integer")
    .addColumn("last_error", "text")
    .addPrimaryKeyConstraint("webhook_deliveries_key", ["webhook_id", "event_id"])
    .execute();
  await schema
    .createIndex("webhook_deliveries_by_state")
    .on("webhook_deliveries")
    .columns(["webhook_id", "state", "event_id"])
    .execute();
}
