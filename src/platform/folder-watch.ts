import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";
import { isErrno, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** The most missing folders to wait for. */
const maxAwaited = 100;

/** Reports changes in a set of folders. */
export type FolderWatch = ReturnType<typeof createFolderWatch>;

/**
 * Watches through the kernel only: one watch per folder, however many files it has. Events can be lost (network file systems, more folders
 * than allowed), so a caller that needs to know everything also polls.
 */
export function createFolderWatch({
  log,
  onChange,
  maxFolders = 10_000,
}: {
  readonly log: Log;
  /** This path changed, appeared or was removed. One change may be reported several times. */
  onChange(path: string): void;
  /** Linux allows 8,192 to 1 million watches per user. */
  readonly maxFolders?: number;
}) {
  const watchers = new Map<string, FSWatcher>();
  /** Missing folders, by the parent that is watched instead. */
  const awaited = new Map<string, Set<string>>();
  let refused = false;
  let closed = false;

  /**
   * Watches a folder, or waits until it exists. Idempotent.
   * @returns whether it is watched from now on, so that earlier changes were missed
   */
  function add(folder: string): boolean {
    if (closed || watchers.has(folder)) return false;
    if (watchers.size >= maxFolders) {
      refused = true;
      return false;
    }
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => onEvent(folder, name));
      watcher.on("error", () => drop(folder)); // it was removed; its parent reports that
      watchers.set(folder, watcher);
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) {
        waitFor(folder);
        return false;
      }
      if (!refused) log.warn({ reason: messageOf(error) }, "cannot watch folders; polling them instead");
      refused = true;
      return false;
    }
  }

  /** Watches the nearest existing parent. */
  function waitFor(folder: string): void {
    if (awaited.size >= maxAwaited || folder === dirname(folder)) return;
    const above = dirname(folder);
    const waiting = awaited.get(above) ?? new Set();
    awaited.set(above, waiting.add(folder));
    add(above);
    // It may have appeared before its parent was watched.
    if (watchers.has(above) && existsSync(folder)) appeared(folder);
  }

  function onEvent(folder: string, name: string | null): void {
    const path = name === null ? folder : join(folder, name);
    // Another folder may have replaced the watched one. This comes before awaited folders are watched, so that they lose no events.
    if (name !== null && watchers.has(path)) {
      drop(path);
      appeared(path);
    }
    const here = [...(awaited.get(folder) ?? [])];
    for (const one of here) if (name === null || one === path) appeared(one);
    return onChange(path);
  }

  /** An awaited folder may exist now, and with it those below it. */
  function appeared(folder: string): void {
    const waiting = awaited.get(dirname(folder));
    waiting?.delete(folder);
    if (waiting?.size === 0) awaited.delete(dirname(folder));
    add(folder);
    if (!watchers.has(folder)) return; // still missing
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
    /** Whether every folder is watched. */
    isComplete: (): boolean => !refused,
    /** Idempotent. */
    close(): void {
      closed = true;
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      awaited.clear();
    },
  };
}
