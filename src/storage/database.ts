import { statSync } from "node:fs";
import { Kysely } from "kysely";
import { messageOf, PosternError } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { describeUrl, migrate } from "./migrate.ts";
import type { Tables } from "./schema.ts";
import { isDamaged, StoreFailure } from "./store-failure.ts";

/**
 * `store_newer`: written by a newer Postern. `store_unavailable`: cannot be reached, opened or upgraded.
 */
export type StorageErrorCode = "store_newer" | "store_unavailable";

/** The open store. */
export interface Database {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  /** Idempotent. */
  close(): Promise<void>;
}

/** Where the store is: PostgreSQL at `url`, or with null the SQLite file at `path`. */
export interface DatabasePlace {
  readonly url: string | null;
  readonly path: string;
}

export interface DatabaseOptions extends DatabasePlace {
  readonly log: Log;
  /** Folder for copies of the SQLite file made before upgrades. If omitted, no copies are made. */
  readonly copies?: string;
}

/**
 * Opens the store and upgrades its tables. Several processes can do so at once.
 * @throws PosternError `store_newer` | `store_unavailable`
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, path, log } = options;
  const place = url === null ? path : describeUrl(url);
  let db: Kysely<Tables> | undefined;
  try {
    if (url === null) await requireStoreFile(options);
    db = url === null ? await openSqlite(path) : await openPostgres(url, log);
    await migrate(db, place, (applied) => keepCopy(options, applied));
  } catch (error) {
    await db?.destroy();
    if (error instanceof PosternError && !(error instanceof StoreFailure)) throw error;
    throw cannotOpen(place, error, isDamaged(error) ? `. ${remedyFor(options)}` : "");
  }
  const opened = db;
  let closing: Promise<void> | undefined;
  return {
    db: opened,
    dialect: url === null ? "sqlite" : "postgres",
    close: () => (closing ??= opened.destroy()),
  };
}

/**
 * Runs `task` on a store of any version, without upgrading it.
 * @throws PosternError `store_unavailable`
 */
export async function withRawDatabase<T>(
  { url, path }: DatabasePlace,
  task: (database: Pick<Database, "db" | "dialect">) => Promise<T>,
): Promise<T> {
  const place = url === null ? path : describeUrl(url);
  const db = await (url === null ? openSqlite(path) : openPostgres(url, silentLog)).catch((error: unknown) => {
    throw cannotOpen(place, error);
  });
  try {
    return await task({ db, dialect: url === null ? "sqlite" : "postgres" });
  } finally {
    await db.destroy();
  }
}

function cannotOpen(place: string, cause: unknown, remedy = ""): PosternError<StorageErrorCode> {
  const message = `Cannot open the store at ${place}: ${messageOf(cause)}${remedy}`;
  return new PosternError("store_unavailable", message, { cause });
}

async function keepCopy({ url, path, copies, log }: DatabaseOptions, applied: readonly string[]): Promise<void> {
  if (url !== null) {
    log.info({ from: applied.at(-1) }, "upgrading the store; Postern makes no copy of a PostgreSQL database");
    return;
  }
  if (copies === undefined) return;
  const { keepStoreCopy } = await import("./kept-copies.ts");
  const file = await keepStoreCopy({ path, copies, applied });
  if (file !== null) log.info({ file }, "copied the store before upgrading it");
}

/** The minimum size of a SQLite file. SQLite treats a shorter one as new. */
export const sqliteHeaderBytes = 100;

/** Creates a missing store. A file that lost its content is never treated as new. */
async function requireStoreFile(options: DatabaseOptions): Promise<void> {
  const { path } = options;
  const { makeSqliteFile } = await import("./sqlite.ts");
  makeSqliteFile(path);
  const { size } = statSync(path);
  if (size >= sqliteHeaderBytes) return;
  throw new PosternError(
    "store_unavailable",
    `The store at ${path} has lost its content: the file is ${size} bytes long. ${remedyFor(options)}`,
  );
}

function remedyFor({ path, copies }: DatabaseOptions): string {
  const kept = copies === undefined ? "" : ` Copies made before upgrades are in ${copies}.`;
  return `Restore a backup with \`postern restore <file> --replace\`.${kept} To start with a new store instead, move ${path} away.`;
}

// Dialects are loaded on use: `pg` takes 30 ms.
async function openSqlite(path: string): Promise<Kysely<Tables>> {
  const { openSqliteFile, openSqliteReader } = await import("./sqlite.ts");
  const { createSqliteDialect } = await import("./sqlite-driver.ts");
  const writer = await openSqliteFile(path);
  try {
    return new Kysely<Tables>({ dialect: createSqliteDialect(writer, openSqliteReader(path)) });
  } catch (error) {
    writer.close();
    throw error;
  }
}

async function openPostgres(url: string, log: Log): Promise<Kysely<Tables>> {
  const { createPostgresDialect } = await import("./postgres.ts");
  return new Kysely<Tables>({ dialect: await createPostgresDialect(url, log) });
}
