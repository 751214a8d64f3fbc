import { rm } from "node:fs/promises";
import { Kysely, sql } from "kysely";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isDamaged } from "../storage/store-failure.ts";
import { type CatalogTables, catalogVersion, createCatalogTables } from "./catalog-tables.ts";
import { createTextStore } from "./text-index.ts";

/** The catalog's location: in the database of the store at `url`, or, if null, in the file `path`. */
export interface CatalogPlace {
  /** PostgreSQL address of the store; null for the embedded store. */
  readonly url: string | null;
  /** The embedded catalog's file; unused with PostgreSQL. */
  readonly path: string;
  /** The embedded store's file; unused with PostgreSQL. */
  readonly storePath: string;
}

/** A connection to the catalog. The indexing process writes, the gateway reads ({@link openCatalogReader}). */
export interface CatalogDatabase {
  readonly db: Kysely<CatalogTables>;
  readonly dialect: "sqlite" | "postgres";
  /** Recreates all tables in one transaction. */
  reset(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The catalog's own schema in PostgreSQL. */
const schemaName = "catalog";
const connections = 3;
/** Serializes processes that open an empty catalog. */
const lockKey = 7_177_001;

/**
 * Opens the catalog, and creates its tables if they are missing or of another version. A damaged file is removed: the catalog can always
 * be rebuilt from the transcripts.
 *
 * @throws PosternError `store_unavailable`
 */
export async function openCatalogDatabase(place: CatalogPlace, log: Log): Promise<CatalogDatabase> {
  try {
    return await open(place, log);
  } catch (error) {
    if (place.url === null && isDamaged(error)) {
      log.warn({ reason: messageOf(error) }, "the catalog file is damaged; rebuilding it");
      for (const ending of ["", "-wal", "-shm"]) await rm(`${place.path}${ending}`, { force: true });
      return open(place, log);
    }
    throw new PosternError("store_unavailable", `Cannot open the transcript catalog: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Opens the catalog for reading, together with the store's tables. Never start a transaction: with the embedded store it would hold the
 * write locks of both files.
 */
export async function openCatalogReader(place: CatalogPlace, log: Log): Promise<Omit<CatalogDatabase, "reset">> {
  const { db, dialect, close } = await openCatalogDatabase(place, log);
  if (dialect === "sqlite") await sql`attach database ${place.storePath} as store`.execute(db);
  return { db, dialect, close };
}

async function open(place: CatalogPlace, log: Log): Promise<CatalogDatabase> {
  const db = place.url === null ? await openSqlite(place) : await openPostgres(place.url, log);
  const database: CatalogDatabase = {
    db,
    dialect: place.url === null ? "sqlite" : "postgres",
    reset: () => makeTables(database, () => true),
    close: async () => {
      closing ??= db.destroy();
      await closing;
    },
  };
  let closing: Promise<void> | undefined;
  try {
    const isCurrent = (on: Kysely<CatalogTables>) => isOfThisVersion({ db: on, dialect: database.dialect });
    if (!(await isCurrent(db))) await makeTables(database, async (tx) => !(await isCurrent(tx)));
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openSqlite(place: CatalogPlace): Promise<Kysely<CatalogTables>> {
  const { openSqliteFile } = await import("../storage/sqlite.ts");
  const { createSqliteDialect } = await import("../storage/sqlite-driver.ts");
  const file = await openSqliteFile(place.path);
  // A commit need not survive a power loss: missing transcripts are read again.
  file.exec("PRAGMA synchronous = NORMAL");
  return new Kysely<CatalogTables>({ dialect: createSqliteDialect(file) });
}

async function openPostgres(url: string, log: Log): Promise<Kysely<CatalogTables>> {
  const { createPostgresDialect } = await import("../storage/postgres.ts");
  return new Kysely<CatalogTables>({
    dialect: await createPostgresDialect(url, log, { maxConnections: connections, firstSchema: schemaName }),
  });
}

async function isOfThisVersion({ db, dialect }: Pick<CatalogDatabase, "db" | "dialect">): Promise<boolean> {
  const name =
    dialect === "postgres"
      ? sql`to_regclass(${`${schemaName}.catalog_format`})`
      : sql`(
    select name from main.sqlite_master where type = 'table' and name = 'catalog_format')`;
  const { rows } = await sql<{ found: string | null }>`select cast(${name} as text) as found`.execute(db);
  if ((rows[0]?.found ?? null) === null) return false;
  const row = await db.selectFrom("catalog_format").select("version").executeTakeFirst();
  return row?.version === catalogVersion;
}

/** @param isWanted checked again once this connection has the lock */
async function makeTables(
  { db, dialect }: CatalogDatabase,
  isWanted: (tx: Kysely<CatalogTables>) => boolean | Promise<boolean>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (dialect === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(tx);
    if (!(await isWanted(tx))) return;
    if (dialect === "postgres") {
      await sql`drop schema if exists ${sql.id(schemaName)} cascade`.execute(tx);
      await sql`create schema ${sql.id(schemaName)}`.execute(tx);
    } else {
      await dropSqliteTables(tx);
    }
    await createCatalogTables(tx);
    await createTextStore(tx, dialect).createTables();
  });
}

/** Virtual tables first, because they drop their own tables. */
async function dropSqliteTables(tx: Kysely<CatalogTables>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from main.sqlite_master where type = 'table' and name not like 'sqlite_%'
    order by case when sql like 'CREATE VIRTUAL%' then 0 else 1 end`.execute(tx);
  for (const { name } of rows) await sql`drop table if exists ${sql.id("main", name)}`.execute(tx);
}

/**
 * Tunes the writing connection: keeps pages of the text index in memory and writes 8,000 at a time (a sixth less CPU on a gigabyte of
 * transcripts, measured on a busy machine).
 */
export async function prepareForWriting({ db, dialect }: CatalogDatabase): Promise<void> {
  if (dialect !== "sqlite") return;
  await sql`pragma cache_size = -32768`.execute(db);
  await sql`pragma wal_autocheckpoint = 8000`.execute(db);
}

/**
 * Erases deleted content: merges the blocks of the text index, which keep deleted words, and vacuums the file. Takes less than a second
 * for 10,000 sessions; a rebuild takes a minute. PostgreSQL vacuums automatically.
 */
export async function rewriteCatalog({ db, dialect }: CatalogDatabase): Promise<void> {
  await createTextStore(db, dialect).mergeAll();
  if (dialect === "sqlite") await sql`vacuum`.execute(db);
}

/** Empties the write-ahead log. @returns false while a reader uses it */
export async function emptyCatalogJournal({ db, dialect }: CatalogDatabase): Promise<boolean> {
  if (dialect === "postgres") return true;
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
  return rows[0]?.busy === 0;
}
