import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isErrno, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/**
 * Tells when something in a set of folders changes. A folder costs one watch of the kernel however many files it holds, and nothing
 * while nothing happens; no file is looked at. Events can be lost (network file systems, more folders than allowed): whoever needs
 * to know everything looks at times besides.
 */
export interface FolderWatch {
  /**
   * Watches a folder, or for it while it is not there. Again for one that is watched: nothing happens.
   * @returns whether it is watched from now on, so that what changed before was missed
   */
  add(folder: string): boolean;
  /** Whether every folder is watched. */
  isComplete(): boolean;
  /** Idempotent. */
  close(): void;
}

/** What {@link createFolderWatch} needs. */
export interface FolderWatchDeps {
  readonly log: Log;
  /** Something of this path changed, appeared or went. Several may come for one change. */
  onChange(path: string): void;
  /** Watches of the kernel at most; 10,000 by default. Linux allows 8,192 to 1 million for each user. */
  readonly maxFolders?: number;
}

/** Folders that are waited for at most. */
const maxAwaited = 100;

/** Watches through the kernel only. */
export function createFolderWatch({ log, onChange, maxFolders = 10_000 }: FolderWatchDeps): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  /** Folders that are not there, by the one above them that is watched in their place. */
  const awaited = new Map<string, Set<string>>();
  let refused = false;
  let closed = false;

  function add(folder: string): boolean {
    if (closed || watchers.has(folder)) return false;
    if (watchers.size >= maxFolders) {
      refused = true;
      return false;
    }
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => onEvent(folder, name));
      watcher.on("error", () => drop(folder)); // it went away; the one above tells
      watchers.set(folder, watcher);
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) {
        waitFor(folder);
        return false;
      }
      if (!refused)
        log.warn({ reason: messageOf(error) }, "folders cannot be watched; they are looked at from time to time");
      refused = true;
      return false;
    }
  }

  /** Watches the nearest folder above that is there. */
  function waitFor(folder: string): void {
    if (awaited.size >= maxAwaited || folder === dirname(folder)) return;
    const above = dirname(folder);
    const waiting = awaited.get(above) ?? new Set();
    awaited.set(above, waiting.add(folder));
    add(above);
    // It may have come before the one above was watched.
    if (watchers.has(above) && existsSync(folder)) appeared(folder);
  }

  function onEvent(folder: string, name: string | null): void {
    const here = [...(awaited.get(folder) ?? [])];
    for (const one of here) if (name === null || basename(one) === name) appeared(one);
    if (name === null) return onChange(folder);
    const path = join(folder, name);
    // Another folder may have taken the place of the one that is watched.
    if (watchers.has(path)) {
      drop(path);
      add(path);
    }
    return onChange(path);
  }

  /** A folder that was waited for may be there now, and with it what was waited for below it. */
  function appeared(folder: string): void {
    awaited.get(dirname(folder))?.delete(folder);
    add(folder);
    if (!watchers.has(folder)) return; // waits again
    onChange(folder);
    const below = [...(awaited.get(folder) ?? [])];
    for (const one of below) appeared(one);
  }

  function drop(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  return {
    add,
    isComplete: () => !refused,
    close() {
      closed = true;
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      awaited.clear();
    },
  };
}
