import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type CatalogDatabase,
  type CatalogPlace,
  openCatalogDatabase,
  openCatalogReader,
} from "../../src/catalog/catalog-database.ts";
import type { TranscriptRow } from "../../src/catalog/catalog-tables.ts";
import { silentLog } from "../../src/core/log.ts";
import type { TestStore } from "./database.ts";

/** The catalog of a test's store is next to it. */
export function catalogPlaceOf({ place }: Pick<TestStore, "place">): CatalogPlace {
  return { url: place.url, path: join(dirname(place.path), "catalog.db"), storePath: place.path };
}

/** A connection that writes the catalog, closed with the test. */
export async function openTestCatalog(place: CatalogPlace): Promise<CatalogDatabase> {
  const database = await openCatalogDatabase(place, silentLog);
  onTestFinished(() => database.close());
  return database;
}

/** A connection that reads the catalog together with the store, closed with the test. */
export async function openTestCatalogReader(place: CatalogPlace): Promise<Omit<CatalogDatabase, "reset">> {
  const reader = await openCatalogReader(place, silentLog);
  onTestFinished(() => reader.close());
  return reader;
}

/** The row of a session of Claude Code that was read to its end, but for what differs. */
export function transcriptRow(differs: Partial<TranscriptRow> = {}): TranscriptRow {
  return {
    transcript_id: 1,
    path: "/t/s1.jsonl",
    agent: "claude-code",
    format: "claude",
    session_id: "s1",
    kind: "session",
    listed: 1,
    file_key: "",
    size_bytes: 100,
    modified_at: 0,
    parsed_offset: 100,
    inside_too_long: 0,
    fingerprint: "",
    reader_state: null,
    complete: 1,
    unreadable: 0,
    skipped_lines: 0,
    dir: "/code",
    branch: null,
    model: null,
    title: null,
    first_prompt: null,
    created_at: null,
    updated_at: 0,
    turn_count: 2,
    ...differs,
  };
}
