import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What people set on sessions (titles, pins, archive and labels), and how far each account has read each session. */
export const sessionNotesMigration: Migration = {
  async up(db) {
    await createNotes(db);
    await createSeen(db);
  },
};

async function createNotes({ schema }: Kysely<unknown>): Promise<void> {
  // No references to `sessions`: sessions found in an agent's transcripts have no record.
  await schema
    .createTable("session_notes")
    .addColumn("agent", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("title", "text")
    .addColumn("pinned_at", "bigint")
    .addColumn("archived_at", "bigint")
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("session_notes_key", ["session_id", "agent"])
    .execute();
  await schema
    .createTable("session_labels")
    .addColumn("agent", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("label", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("session_labels_key", ["session_id", "agent", "label"])
    .execute();
  await schema.createIndex("session_labels_by_label").on("session_labels").column("label").execute();
}

async function createSeen(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("session_seen")
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("agent", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("seen_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("session_seen_key", ["account_id", "session_id", "agent"])
    .execute();
  // Without this, everything from before the upgrade would be unread.
  await sql`insert into session_seen (account_id, agent, session_id, seen_at)
    select account_id, '', '', ${Date.now()} from accounts`.execute(db);
}
