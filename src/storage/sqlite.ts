import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, linkSync, mkdirSync, openSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isErrno, PosternError } from "../core/errors.ts";
import { pagesBetweenCheckpoints } from "./journal.ts";
import { sqliteFailure } from "./store-failure.ts";

/** How long a statement waits for another process's write, which takes milliseconds. */
const busyTimeoutMs = 5_000;
const busyPauseMs = 5;

/** The write-ahead log is truncated to this size after a checkpoint. */
const maxJournalBytes = pagesBetweenCheckpoints * 4_096;
/** SQLite's default of 2 MB causes repeated reads during large writes. */
const maxCacheKilobytes = 8_000;

/**
 * Opens or creates the SQLite file at `path`, readable by its owner only. Several processes can have it open: writes are durable when
 * they return (`synchronous=FULL`) and readers never wait for a writer (WAL).
 */
export async function openSqliteFile(path: string): Promise<DatabaseSync> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  makePrivate(path);
  const database = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
  try {
    await whenFree(async () => {
      database.exec("PRAGMA journal_mode = WAL"); // needs exclusive access the first time
      database.exec("PRAGMA synchronous = FULL");
      database.exec("PRAGMA trusted_schema = OFF");
      database.exec("PRAGMA secure_delete = FAST"); // replaced content does not stay in its page
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

/** Creates a SQLite file at `path` unless one exists. The file never has 0 bytes. */
export function makeSqliteFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) return;
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    makePrivate(draft);
    const database = new DatabaseSync(draft);
    database.exec("PRAGMA journal_mode = WAL"); // writes the first page
    database.close();
    linkSync(draft, path); // unlike a rename, never replaces another process's file
  } catch (error) {
    if (!isErrno(error, "EEXIST", "EPERM", "ENOTSUP", "EMLINK", "ENOSYS")) throw error; // if the file is still missing, openSqliteFile creates it
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Makes a file readable by its owner only; SQLite gives its journals the same mode. An existing file is never opened: closing it would
 * release this process's locks on it.
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
 * Retries `task` while another process holds the lock it needs. SQLite's own waiting would block this process, and with it the
 * transaction it may be waiting for.
 */
export async function whenFree<T>(task: () => Promise<T>): Promise<T> {
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

/** Whether another connection holds the needed lock. */
export function isBusy(error: unknown): boolean {
  // 5 is SQLITE_BUSY; the extended codes keep it in their low byte.
  return (
    error instanceof Error && "errcode" in error && typeof error.errcode === "number" && (error.errcode & 0xff) === 5
  );
}

/** Opens a file, already open by {@link openSqliteFile}, for reading committed data. */
export function openSqliteReader(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  database.exec("PRAGMA trusted_schema = OFF");
  database.exec(`PRAGMA cache_size = -${maxCacheKilobytes}`);
  return database;
}

/** How long a copy waits for locks, which are short in WAL mode. */
const copyBusyMs = 5_000;

/**
 * Copies a consistent snapshot of the SQLite store `from` into the new file `to` (mode 0600), while others use it. The copy has no journal
 * and no deleted data. Blocks this process.
 *
 * @returns the migrations that the copy has, in order
 * @throws PosternError `store_unavailable`
 */
export async function copySqliteStore(from: string, to: string): Promise<readonly string[]> {
  if (!existsSync(from)) throw new PosternError("store_unavailable", `No store at ${from}.`);
  makePrivate(to);
  const database = new DatabaseSync(from, { timeout: copyBusyMs });
  try {
    database.prepare("vacuum into ?").run(to);
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  } finally {
    database.close();
  }
  return schemaOfSqliteFile(to);
}

/** The migrations of a SQLite file; empty if it is not a store. */
function schemaOfSqliteFile(path: string): readonly string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const known = database.prepare("select 1 from sqlite_master where name = 'kysely_migration'").get();
    if (known === undefined) return [];
    const rows = database.prepare("select name from kysely_migration order by name").all();
    return rows.map(({ name }) => String(name));
  } finally {
    database.close();
  }
}
