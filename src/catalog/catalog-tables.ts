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

/** The catalog's tables. A reader also sees the store's tables. */
export interface CatalogTables extends Tables {
  transcripts: TranscriptRow;
  catalog_format: { version: string };
}

/** Increase when tables or the extracted data change: a catalog of another version is rebuilt. */
export const catalogVersion = "3";

export async function createCatalogTables(db: Kysely<CatalogTables>): Promise<void> {
  await sql`create table transcripts (
    transcript_id bigint primary key, path text not null unique, agent text not null, format text not null,
    session_id text not null, kind text not null, listed integer not null, file_key text not null,
    size_bytes bigint not null, modified_at bigint not null, parsed_offset bigint not null,
    inside_too_long integer not null, fingerprint text not null, reader_state text, complete integer not null,
    unreadable integer not null, skipped_lines bigint not null, dir text, branch text, model text, title text,
    first_prompt text, created_at bigint, updated_at bigint not null, turn_count integer not null)`.execute(db);
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
