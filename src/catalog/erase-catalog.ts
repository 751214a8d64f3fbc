import { sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import { createTextStore } from "./text-index.ts";

/**
 * Writes the catalog anew without what was deleted. Words stay in the blocks of the text index until those are merged, and old pages in
 * the file until it is vacuumed: both together take less than a second for 10,000 sessions, where a rebuild takes a minute.
 * PostgreSQL overwrites deleted rows when it vacuums by itself.
 */
export async function rewriteCatalog({ db, dialect }: CatalogDatabase): Promise<void> {
  await createTextStore(db, dialect).mergeAll();
  if (dialect === "sqlite") await sql`vacuum`.execute(db);
}

/** Empties the write-ahead log. @returns whether it is empty; not while a reader holds on to what was there before */
export async function emptyCatalogJournal({ db, dialect }: CatalogDatabase): Promise<boolean> {
  if (dialect === "postgres") return true;
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
  return rows[0]?.busy === 0;
}
