import { type Kysely, sql } from "kysely";
import type { Tables } from "../storage/schema.ts";

/** A transcript in the catalog. Times are milliseconds since the epoch, booleans 0 or 1. */
export interface TranscriptRow {
  /** Not reused until the catalog is rebuilt. */
  transcript_id: number;
  path: string;
  agent: string;
  format: string;
  /** The id in the file's name. */
  session_id: string;
  /** `part`: a sub-agent's transcript. */
  kind: "session" | "part";
  /** 1: the newest transcript of a session, with a directory. Only these are listed and searched. */
  listed: number;

  /** Device and inode. */
  file_key: string;
  size_bytes: number;
  modified_at: number;
  parsed_offset: number;
  inside_too_long: number;
  /** Hash of the first bytes and of those before `parsed_offset`, to recognize the file. */
  fingerprint: string;
  /** The reader's state as JSON; null: a file that grew is read from its beginning. */
  reader_state: string | null;
  /** 1: read to its end. */
  complete: number;
  /** 1: cannot be read. */
  unreadable: number;
  skipped_lines: number;

  dir: string | null;
  branch: string | null;
  model: string | null;
  title: string | null;
  /** The start of the first prompt. */
  first_prompt: string | null;
  created_at: number | null;
  updated_at: number;
  turn_count: number;
}

/** The catalog's tables. A reader also sees those of the store. */
export interface CatalogTables extends Tables {
  transcripts: TranscriptRow;
  catalog_format: { version: string };
}

/** Increase when tables or the extracted data change: a catalog of another version is rebuilt. */
export const catalogVersion = "2";

export async function createCatalogTables(db: Kysely<CatalogTables>): Promise<void> {
  await db.schema
    .createTable("transcripts")
    .addColumn("transcript_id", "bigint", (column) => column.primaryKey())
    .addColumn("path", "text", (column) => column.notNull().unique())
    .addColumn("agent", "text", (column) => column.notNull())
    .addColumn("format", "text", (column) => column.notNull())
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("listed", "integer", (column) => column.notNull())
    .addColumn("file_key", "text", (column) => column.notNull())
    .addColumn("size_bytes", "bigint", (column) => column.notNull())
    .addColumn("modified_at", "bigint", (column) => column.notNull())
    .addColumn("parsed_offset", "bigint", (column) => column.notNull())
    .addColumn("inside_too_long", "integer", (column) => column.notNull())
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("reader_state", "text")
    .addColumn("complete", "integer", (column) => column.notNull())
    .addColumn("unreadable", "integer", (column) => column.notNull())
    .addColumn("skipped_lines", "bigint", (column) => column.notNull())
    .addColumn("dir", "text")
    .addColumn("branch", "text")
    .addColumn("model", "text")
    .addColumn("title", "text")
    .addColumn("first_prompt", "text")
    .addColumn("created_at", "bigint")
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .addColumn("turn_count", "integer", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("transcripts_session").on("transcripts").columns(["session_id", "agent"]).execute();
  await sql`create index transcripts_newest on transcripts (updated_at desc, session_id, agent) where listed = 1`.execute(
    db,
  );
  await sql`create index transcripts_dir on transcripts (dir, agent, updated_at) where listed = 1`.execute(db);
  await db.schema
    .createTable("catalog_format")
    .addColumn("version", "text", (column) => column.notNull())
    .execute();
  await db.insertInto("catalog_format").values({ version: catalogVersion }).execute();
}
