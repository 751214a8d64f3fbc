import { type Kysely, SqliteAdapter } from "kysely";
import type { Migration } from "kysely/migration";

/** Chats: settings, followed sessions, incoming updates and outgoing messages. */
export const chatMigration: Migration = {
  async up(db) {
    await createChats(db);
    await createInbox(db);
    await createOutbox(db);
  },
};

async function createChats({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("chats")
    .addColumn("channel", "text", (c) => c.notNull())
    .addColumn("chat_id", "text", (c) => c.notNull())
    .addColumn("dir", "text")
    .addColumn("agent", "text")
    .addColumn("session_id", "text") // no reference: sessions outside the store can be chosen too
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("chats_key", ["channel", "chat_id"])
    .execute();
  await schema
    .createTable("chat_sessions")
    .addColumn("channel", "text", (c) => c.notNull())
    .addColumn("chat_id", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("turn_index", "bigint", (c) => c.notNull())
    .addColumn("turn_length", "bigint", (c) => c.notNull())
    .addColumn("prompt_message_id", "text")
    .addColumn("status_key", "text")
    .addColumn("bound_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("chat_sessions_key", ["channel", "chat_id", "session_id"])
    .execute();
  await schema
    .createTable("chat_marks")
    .addColumn("channel", "text", (c) => c.primaryKey())
    .addColumn("event_id", "text", (c) => c.notNull())
    .execute();
}

async function createInbox({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("chat_updates")
    .addColumn("channel", "text", (c) => c.notNull())
    .addColumn("update_id", "bigint", (c) => c.notNull())
    .addColumn("chat_id", "text", (c) => c.notNull())
    .addColumn("message_id", "text")
    .addColumn("session_id", "text")
    .addColumn("body", "text", (c) => c.notNull())
    .addColumn("request", "text")
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("received_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("chat_updates_key", ["channel", "update_id"])
    .execute();
  await schema
    .createIndex("chat_updates_by_message")
    .on("chat_updates")
    .columns(["channel", "chat_id", "message_id"])
    .execute();
  await schema
    .createIndex("chat_updates_by_state")
    .on("chat_updates")
    .columns(["channel", "state", "update_id"])
    .execute();
}

async function createOutbox(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  const serial = db.getExecutor().adapter instanceof SqliteAdapter ? "integer" : "bigserial";
  await schema
    .createTable("chat_messages")
    .addColumn("ordinal", serial, (c) => c.primaryKey())
    .addColumn("channel", "text", (c) => c.notNull())
    .addColumn("message_key", "text", (c) => c.notNull())
    .addColumn("chat_id", "text", (c) => c.notNull())
    .addColumn("session_id", "text")
    .addColumn("permission_id", "text")
    .addColumn("body", "text", (c) => c.notNull())
    .addColumn("final", "integer", (c) => c.notNull())
    .addColumn("version", "integer", (c) => c.notNull())
    .addColumn("delivered", "integer", (c) => c.notNull())
    .addColumn("message_id", "text")
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addUniqueConstraint("chat_messages_once", ["channel", "message_key"])
    .execute();
  await schema
    .createIndex("chat_messages_by_state")
    .on("chat_messages")
    .columns(["channel", "chat_id", "state", "ordinal"])
    .execute();
  await schema
    .createIndex("chat_messages_by_message")
    .on("chat_messages")
    .columns(["channel", "chat_id", "message_id"])
    .execute();
  await schema.createIndex("chat_messages_by_session").on("chat_messages").columns(["channel", "session_id"]).execute();
}
