import { closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Held by the one host of a state folder. */
export interface HostLock {
  /** False when the file was removed, with its folder or without: another host may hold a lock of that name by now. */
  stands(): boolean;
  release(): void;
}

/**
 * Takes the lock of `stateDir`, or returns undefined when a living host has it. The lock is SQLite's own on an empty file, because
 * Node has no other kernel lock: it goes with its holder, however that dies, so it is never stale and never taken over.
 */
export function takeHostLock(stateDir: string): HostLock | undefined {
  const path = join(stateDir, "host.lock");
  closeSync(openSync(path, "a", 0o600)); // SQLite would let others read it
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  const inode = statSync(path).ino;
  return {
    stands: () => statSync(path, { throwIfNoEntry: false })?.ino === inode,
    release: () => database.close(),
  };
}

/** @see https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;
