import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, linkSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { isErrno } from "../core/errors.ts";
import { pagesBetweenCheckpoints } from "./journal.ts";
import { sqliteFailure } from "./store-failure.ts";

/** How long a statement waits for another process's write: theirs are single transactions of milliseconds. */
const busyTimeoutMs = 5_000;
const busyPauseMs = 5;

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

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  // 5 is SQLITE_BUSY; the extended codes keep it in their low byte.
  return (
    error instanceof Error && "errcode" in error && typeof error.errcode === "number" && (error.errcode & 0xff) === 5
  );
}

/**
 * Opens a file that {@link openSqliteFile} has opened once more, for reading alone: what is read is what was committed, whatever is being
 * written.
 */
export function openSqliteReader(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  database.exec("PRAGMA trusted_schema = OFF");
  database.exec(`PRAGMA cache_size = -${maxCacheKilobytes}`);
  return database;
}
