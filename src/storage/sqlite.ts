import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, linkSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { isErrno } from "../core/errors.ts";
import { pagesBetweenCheckpoints } from "./journal.ts";
import { sqliteFailure } from "./store-failure.ts";

/** How long a statement waits for another process's write: theirs are single transactions of milliseconds. */
const busyTimeoutMs = 5_000;
const busyPauseMs = 5;

/** Prepared statements kept by their text. The code has a few hundred different ones; the oldest goes first. */
const maxStatements = 500;

/** Past this size the write-ahead log is cut back after a checkpoint. */
const maxJournalBytes = pagesBetweenCheckpoints * 4_096;
/** Pages kept in memory once they were read; SQLite's own 2 MB are read again and again when much is written. */
const maxCacheKilobytes = 8_000;

/**
 * Opens the SQLite file at `path`, made when missing, readable by its owner only. Several processes may have it open: every
 * write is durable when it returns (`synchronous=FULL`) and readers never wait for a writer (WAL).
 */
export async function openSqliteFile(path: string): Promise<DatabaseSync> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  makePrivate(path);
  const database = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
  try {
    await whenFree(async () => {
      database.exec("PRAGMA journal_mode = WAL"); // needs the file for itself, the first time
      database.exec("PRAGMA synchronous = FULL");
      database.exec("PRAGMA trusted_schema = OFF");
      database.exec("PRAGMA secure_delete = FAST"); // what was replaced does not stay readable in its page
      database.exec(`PRAGMA journal_size_limit = ${maxJournalBytes}`);
      database.exec(`PRAGMA wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
      database.exec(`PRAGMA cache_size = -${maxCacheKilobytes}`);
    });
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/**
 * Makes an empty SQLite file at `path`, which is never there with 0 bytes. Does nothing when there is a file already.
 */
export function makeSqliteFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) return;
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    makePrivate(draft);
    const database = new DatabaseSync(draft);
    database.exec("PRAGMA journal_mode = WAL"); // writes the first page
    database.close();
    linkSync(draft, path); // unlike a rename, never replaces what another process has just made
  } catch (error) {
    if (!isErrno(error, "EEXIST", "EPERM", "ENOTSUP", "EMLINK", "ENOSYS")) throw error; // openSqliteFile makes it then
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * SQLite gives its journals the mode of this file. One that exists is never opened here: closing it again would drop the locks
 * that this process may hold on it.
 *
 * @see https://sqlite.org/howtocorrupt.html section 2.2
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    chmodSync(path, 0o600);
  }
}

/**
 * Runs `task` again while another process holds the lock it needs. SQLite's own waiting would stop this whole process, and
 * with it the very transaction that it may be waiting for.
 */
async function whenFree<T>(task: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw sqliteFailure(error);
      await sleep(busyPauseMs);
    }
  }
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  // 5 is SQLITE_BUSY; the extended codes keep it in their low byte.
  return (
    error instanceof Error && "errcode" in error && typeof error.errcode === "number" && (error.errcode & 0xff) === 5
  );
}

/** Kysely over `node:sqlite`. Closing the Kysely instance closes `database`. */
export function createSqliteDialect(database: DatabaseSync): Dialect {
  return {
    createDriver: () => new PatientDriver(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/**
 * Waits for other processes, and takes the write lock when a transaction begins: one that read first and wrote later would
 * fail at once when another process wrote in between.
 */
class PatientDriver extends SqliteDriver {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: asKyselyDatabase(database) });
    this.#database = database;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: (query) => whenFree(() => connection.executeQuery(query)),
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
    };
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** A full disk ends the transaction by itself; what is told is why, and not that there is none to roll back. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

/** Lets migrations run in one transaction, whose write lock makes processes that start together take turns. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function asKyselyDatabase(database: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, { readonly statement: StatementSync; readonly reader: boolean }>();

  function prepared(sql: string): { readonly statement: StatementSync; readonly reader: boolean } {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    const entry = { statement, reader: statement.columns().length > 0 };
    for (const oldest of statements.keys()) {
      if (statements.size < maxStatements) break;
      statements.delete(oldest);
    }
    statements.set(sql, entry);
    return entry;
  }

  return {
    prepare(sql) {
      const { statement, reader } = prepared(sql);
      return {
        reader,
        all: (parameters) => statement.all(...parameters.map(toValue)),
        run: (parameters) => statement.run(...parameters.map(toValue)),
        iterate: (parameters) => database.prepare(sql).iterate(...parameters.map(toValue)),
      };
    },
    close: () => {
      statements.clear();
      database.close();
    },
  };
}

/** Only what PostgreSQL would store alike: no booleans (the schema has 0 and 1), no dates, no objects. */
function toValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`A ${typeof value} cannot be stored; the schema knows text, numbers, bytes and null.`);
}
