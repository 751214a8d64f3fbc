import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";

/** Single-use sign-in links, and the browsers that signed in with them. */
export const browserSessionsMigration: Migration = {
  async up(db) {
    await createSignInLinks(db);
    await createBrowserSessions(db);
  },
};

async function createSignInLinks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("sign_in_links")
    .addColumn("link_hash", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
}

async function createBrowserSessions({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("browser_sessions")
    .addColumn("browser_session_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("cookie_hash", "text", (c) => c.notNull().unique())
    .addColumn("key_hash", "text", (c) => c.notNull().unique())
    .addColumn("user_agent", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("last_used_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
}
