import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PosternError } from "../core/errors.ts";
import { isBusy, makePrivate } from "./sqlite.ts";

/** A lock that this process holds until it is closed or ends, by whatever death. */
export interface ProcessLock {
  /** Idempotent. */
  close(): void;
}

/**
 * Makes sure that one gateway runs for a state folder. The lock is the operating system's, on an empty file, so that nothing is
 * stale after a crash.
 *
 * @throws PosternError `gateway_running` when another process holds it
 */
export function acquireProcessLock(path: string): ProcessLock {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  makePrivate(path);
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!isBusy(error)) throw error;
    throw new PosternError("gateway_running", `Another gateway of this home is running; it holds ${path}.`);
  }
  return {
    close: () => {
      if (file.isOpen) file.close();
    },
  };
}
