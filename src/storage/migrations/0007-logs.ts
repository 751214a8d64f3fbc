import { type CreateTableBuilder, type Kysely, SqliteAdapter, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * The memory: entries, derived rows, words for search, and records of deletions. Deletes do not cascade: `src/logs` removes rows that several
 * entries share when it deletes the last of these entries. Derived rows have no foreign keys, which would repeat checks of `src/logs` for each row.
 */
export const logsMigration: Migration = {
  async up(db) {
    await createEntries(db);
    await createWords(db);
    await createDerived(db);
    await createTraces(db);
  },
};

/** A generated, increasing integer. */
function serial(db: Kysely<unknown>): "integer" | "bigserial" {
  return isSqlite(db) ? "integer" : "bigserial";
}

function isSqlite(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter;
}

/** Stores rows in the tree of the primary key: one tree to write instead of two. Only for rows without text. */
function keyIsTable(db: Kysely<unknown>) {
  return <Table extends string, Column extends string>(table: CreateTableBuilder<Table, Column>) =>
    isSqlite(db) ? table.modifyEnd(sql`without rowid`) : table;
}

async function createEntries(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("log_entries")
    .addColumn("log_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id"))
    .addColumn("source", "text", (c) => c.notNull())
    .addColumn("session_id", "text")
    .addColumn("dir", "text")
    .addColumn("title", "text")
    .addColumn("form", "text", (c) => c.notNull())
    .addColumn("content", "text", (c) => c.notNull())
    .addColumn("context", "text", (c) => c.notNull())
    .addColumn("observed_at", "bigint", (c) => c.notNull())
    .addColumn("recorded_at", "bigint", (c) => c.notNull())
    .addColumn("status", "text", (c) => c.notNull())
    .addColumn("failure", "text")
    .addColumn("key_hash", "text")
    .addColumn("request_hash", "text")
    .execute();
  await schema
    .createIndex("log_entries_once")
    .unique()
    .on("log_entries")
    .columns(["account_id", "key_hash"])
    .where(sql.ref("key_hash"), "is not", null)
    .execute();
  await schema
    .createIndex("log_entries_by_time")
    .on("log_entries")
    .columns(["account_id", "observed_at", "log_id"])
    .execute();
  await schema
    .createIndex("log_entries_by_session")
    .on("log_entries")
    .columns(["account_id", "session_id", "observed_at"])
    .where(sql.ref("session_id"), "is not", null)
    .execute();
  await schema
    .createIndex("log_entries_by_dir")
    .on("log_entries")
    .columns(["account_id", "dir"])
    .where(sql.ref("dir"), "is not", null)
    .execute();
  await schema
    .createIndex("log_entries_pending")
    .on("log_entries")
    .columns(["account_id", "log_id"])
    .where(sql.ref("status"), "=", "pending")
    .execute();
  await schema
    .createTable("log_turns")
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("turn_index", "bigint", (c) => c.notNull())
    .addColumn("log_id", "text", (c) => c.notNull().references("log_entries.log_id"))
    .addPrimaryKeyConstraint("log_turns_key", ["account_id", "session_id", "turn_index"])
    .$call(keyIsTable(db))
    .execute();
  await schema.createIndex("log_turns_by_log").on("log_turns").column("log_id").execute();
  await schema
    .createTable("episodes")
    .addColumn("log_id", "text", (c) => c.primaryKey().references("log_entries.log_id"))
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("characters", "bigint", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .$call(keyIsTable(db))
    .execute();
}

async function createWords(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("log_chunks")
    .addColumn("chunk_id", serial(db), (c) => c.primaryKey())
    .addColumn("log_id", "text", (c) => c.notNull().references("episodes.log_id"))
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("position", "integer", (c) => c.notNull())
    .addColumn("content", "text", (c) => c.notNull())
    .execute();
  await schema.createIndex("log_chunks_by_log").on("log_chunks").columns(["log_id", "position"]).execute();
  await schema
    .createTable("log_words")
    .addColumn("word_id", serial(db), (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull())
    // Compares by bytes, like SQLite, so words with the same prefix are next to each other.
    .addColumn("word", isSqlite(db) ? "text" : sql`text collate "C"`, (c) => c.notNull())
    .addUniqueConstraint("log_words_once", ["account_id", "word"])
    .execute();
  await schema
    .createTable("log_postings")
    .addColumn("word_id", "bigint", (c) => c.notNull())
    .addColumn("chunk_id", "bigint", (c) => c.notNull())
    .addColumn("occurrences", "integer", (c) => c.notNull())
    .addPrimaryKeyConstraint("log_postings_key", ["word_id", "chunk_id"])
    .$call(keyIsTable(db))
    .execute();
  await schema.createIndex("log_postings_by_chunk").on("log_postings").column("chunk_id").execute();
}

async function createDerived(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("entities")
    .addColumn("entity_id", "text", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("key", "text", (c) => c.notNull())
    // Serves queries for all entities of an account and for a single entity.
    .addPrimaryKeyConstraint("entities_key", ["account_id", "entity_id"])
    .execute();
  await schema
    .createTable("statements")
    .addColumn("statement_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("subject_id", "text", (c) => c.notNull())
    .addColumn("predicate", "text", (c) => c.notNull())
    .addColumn("object_id", "text")
    .addColumn("value", "text")
    .execute();
  // A subject's statements are found by its facts.
  await schema
    .createIndex("statements_by_object")
    .on("statements")
    .columns(["object_id", "subject_id"])
    .where(sql.ref("object_id"), "is not", null)
    .execute();
  await schema
    .createTable("facts")
    .addColumn("log_id", "text", (c) => c.notNull())
    .addColumn("position", "integer", (c) => c.notNull())
    .addColumn("account_id", "text", (c) => c.notNull())
    .addColumn("statement_id", "text", (c) => c.notNull())
    // Copied from the statement, so that an index holds a query's facts together, by time.
    .addColumn("subject_id", "text", (c) => c.notNull())
    .addColumn("predicate", "text", (c) => c.notNull())
    .addColumn("valid_from", "bigint", (c) => c.notNull())
    .addColumn("recorded_at", "bigint", (c) => c.notNull())
    .addColumn("extractor", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("facts_key", ["log_id", "position"])
    .$call(keyIsTable(db))
    .execute();
  const inTime = ["valid_from", "log_id", "position"] as const;
  const index = (name: string, columns: readonly ("statement_id" | "account_id" | "subject_id" | "predicate")[]) =>
    schema
      .createIndex(name)
      .on("facts")
      .columns([...columns, ...inTime])
      .execute();
  await index("facts_by_statement", ["statement_id"]);
  await index("facts_by_subject", ["subject_id", "predicate"]);
  await index("facts_by_predicate", ["account_id", "predicate"]);
}

/** These tables have no content, because they outlive the deleted data. */
async function createTraces({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("log_suppressions")
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.account_id").onDelete("cascade"))
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("first_turn", "bigint", (c) => c.notNull())
    .addColumn("last_turn", "bigint", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("log_suppressions_key", ["account_id", "session_id", "first_turn", "last_turn"])
    .execute();
  await schema
    .createTable("log_marks")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("event_id", "text", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .execute();
}
