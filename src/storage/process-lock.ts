import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PosternError } from "../core/errors.ts";
import { isBusy, makePrivate } from "./sqlite.ts";

/** A lock held until closed or until this process ends for any reason. */
export interface ProcessLock {
  /** Idempotent. */
  close(): void;
}

/**
 * Ensures that only one gateway uses a state folder. The operating system's lock on an empty file cannot become stale in a crash.
 * @throws PosternError `gateway_running` if another process holds it
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
    throw new PosternError(
      "gateway_running",
      `Another gateway is already running with this state folder: it holds ${path}.`,
    );
  }
  return {
    close: () => {
      if (file.isOpen) file.close();
    },
  };
}
