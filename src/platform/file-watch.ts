import { type FSWatcher, type Stats, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import { isErrno, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

/** How many folders the kernel watches. Files in all other folders are only polled. */
const maxFolders = 256;
/** Kernel events can be lost or missing (network file systems, a missing folder), so every file is also polled. */
const pollMs = 500;
/** A burst of writes is reported once. */
const settleMs = 10;

const absent = "absent";

/** Reports when files change or appear. */
export type FileWatch = ReturnType<typeof createFileWatch>;

interface WatchedFile {
  readonly path: string;
  readonly listeners: Set<() => void>;
  /** Size, time and inode as last seen. */
  signature: string;
  /** Whether the next check comes from the poll: a change that it finds was missed by the kernel. */
  polled: boolean;
  readonly check: () => Promise<void>;
  cancelSettle: (() => void) | null;
}

/** Watches the folder of each file through the kernel, and polls in addition. */
export function createFileWatch({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const files = new Map<string, WatchedFile>();
  const folders = new Map<string, FSWatcher>();
  let cancelPoll: (() => void) | null = null;
  let closed = false;

  function watchedFile(path: string): WatchedFile {
    const file: WatchedFile = {
      path,
      listeners: new Set(),
      signature: signatureNow(path),
      polled: false,
      check: oneAtATime(async () => {
        const { polled } = file;
        file.polled = false;
        const now = await signatureOf(path);
        const changed = file.signature !== now;
        file.signature = now;
        if (!changed || files.get(path) !== file) return;
        if (polled) renewFolder(dirname(path));
        notify(file);
      }),
      cancelSettle: null,
    };
    return file;
  }

  function notify(file: WatchedFile): void {
    for (const listener of [...file.listeners]) {
      try {
        listener();
      } catch (error) {
        log.error({ reason: messageOf(error) }, "a listener for file changes failed");
      }
    }
  }

  function soon(file: WatchedFile): void {
    file.cancelSettle ??= clock.after(settleMs, () => {
      file.cancelSettle = null;
      void file.check();
    });
  }

  function watchFolder(folder: string): void {
    if (folders.has(folder) || folders.size >= maxFolders) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        for (const file of files.values()) {
          if (dirname(file.path) === folder && (name === null || name === basename(file.path))) soon(file);
        }
      });
      watcher.on("error", () => dropFolder(folder)); // the folder was removed; the poll continues
      folders.set(folder, watcher);
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return; // the poll retries
      log.debug({ reason: messageOf(error) }, "a folder cannot be watched; its files are polled");
    }
  }

  /** Another folder may have replaced the one that the kernel watches. */
  function renewFolder(folder: string): void {
    dropFolder(folder);
    watchFolder(folder);
  }

  function dropFolder(folder: string): void {
    folders.get(folder)?.close();
    folders.delete(folder);
  }

  function poll(): void {
    if (closed || files.size === 0) {
      cancelPoll = null;
      return;
    }
    cancelPoll = clock.after(pollMs, () => {
      for (const file of files.values()) {
        watchFolder(dirname(file.path));
        file.polled = true;
        void file.check();
      }
      poll();
    });
  }

  function remove(file: WatchedFile, listener: () => void): void {
    file.listeners.delete(listener);
    if (file.listeners.size > 0 || files.get(file.path) !== file) return;
    file.cancelSettle?.();
    files.delete(file.path);
    const folder = dirname(file.path);
    if (![...files.keys()].some((path) => dirname(path) === folder)) dropFolder(folder);
  }

  return {
    /** Calls `listener` soon after the file at `path` changed, appeared or was removed. @returns the unsubscribe function */
    add(path: string, listener: () => void): () => void {
      if (closed) return () => undefined;
      const file = files.get(path) ?? watchedFile(path);
      files.set(path, file);
      const mine = (): void => listener();
      file.listeners.add(mine);
      watchFolder(dirname(path));
      if (cancelPoll === null) poll();
      return () => remove(file, mine);
    },
    async close(): Promise<void> {
      closed = true;
      cancelPoll?.();
      for (const file of files.values()) file.cancelSettle?.();
      files.clear();
      for (const folder of [...folders.keys()]) dropFolder(folder);
    },
  };
}

async function signatureOf(path: string): Promise<string> {
  try {
    return signature(await stat(path));
  } catch {
    return absent; // missing, or not accessible
  }
}

/** Synchronous, so that no change is missed between `add` and the first check. */
function signatureNow(path: string): string {
  try {
    return signature(statSync(path));
  } catch {
    return absent; // as above
  }
}

function signature({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`;
}
