import type { Migration } from "kysely/migration";

/** Several accounts with passkeys, the audit log, and the authorization server's clients, records and keys. */
export const oauthMigration: Migration = {
  async up(db) {
    const { schema } = db;
    // Existing accounts are the owner's.
    await schema
      .alterTable("accounts")
      .addColumn("scopes", "text", (c) => c.notNull().defaultTo("[]"))
      .execute();
    await schema.createIndex("accounts_by_name").unique().on("accounts").column("name").execute();
    await schema
      .createTable("passkeys")
      .addColumn("passkey_id", "text", (c) => c.primaryKey())
      .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
      .addColumn("name", "text", (c) => c.notNull())
      .addColumn("public_key", "text", (c) => c.notNull())
      .addColumn("sign_count", "bigint", (c) => c.notNull())
      .addColumn("transports", "text", (c) => c.notNull())
      .addColumn("backed_up", "integer", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("last_used_at", "bigint")
      .execute();
    await schema.createIndex("passkeys_by_account").on("passkeys").column("account_id").execute();
    await schema
      .createTable("audit_entries")
      .addColumn("audit_id", "text", (c) => c.primaryKey())
      .addColumn("at", "bigint", (c) => c.notNull())
      .addColumn("account_id", "text")
      .addColumn("account_name", "text")
      .addColumn("action", "text", (c) => c.notNull())
      .addColumn("subject", "text")
      .addColumn("details", "text", (c) => c.notNull())
      .addColumn("address", "text")
      .addColumn("user_agent", "text")
      .execute();
    await schema
      .createTable("oauth_clients")
      .addColumn("client_id", "text", (c) => c.primaryKey())
      .addColumn("origin", "text", (c) => c.notNull())
      .addColumn("name", "text", (c) => c.notNull())
      .addColumn("metadata", "text", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("last_used_at", "bigint")
      .execute();
    await schema
      .createTable("oauth_records")
      .addColumn("kind", "text", (c) => c.notNull())
      .addColumn("id_hash", "text", (c) => c.notNull())
      .addColumn("payload", "text", (c) => c.notNull())
      .addColumn("account_id", "text", (c) => c.references("accounts.account_id").onDelete("cascade"))
      .addColumn("client_id", "text")
      .addColumn("grant_hash", "text")
      .addColumn("user_code_hash", "text")
      .addColumn("consumed_at", "bigint")
      .addColumn("last_used_at", "bigint")
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("expires_at", "bigint")
      .addPrimaryKeyConstraint("oauth_records_key", ["id_hash", "kind"])
      .execute();
    await schema.createIndex("oauth_records_by_grant").on("oauth_records").column("grant_hash").execute();
    await schema.createIndex("oauth_records_by_user_code").on("oauth_records").column("user_code_hash").execute();
    await schema.createIndex("oauth_records_by_expiry").on("oauth_records").column("expires_at").execute();
    await schema
      .createIndex("oauth_records_by_account")
      .on("oauth_records")
      .columns(["account_id", "kind", "client_id"])
      .execute();
    await schema.createIndex("oauth_records_by_client").on("oauth_records").column("client_id").execute();
    await schema
      .createTable("oauth_keys")
      .addColumn("key_id", "text", (c) => c.primaryKey())
      .addColumn("purpose", "text", (c) => c.notNull())
      .addColumn("sealed", "text", (c) => c.notNull())
      .addColumn("created_at", "bigint", (c) => c.notNull())
      .addColumn("retired_at", "bigint")
      .addColumn("expires_at", "bigint")
      .execute();
  },
};
