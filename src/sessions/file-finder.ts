import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { EnvironmentMarker } from "../platform/processes.ts";

/** A search, sent to the worker. */
export interface FileSearch {
  readonly id: number;
  /** Real path. */
  readonly dir: string;
  readonly query: string;
  readonly limit: number;
}

/** Its answer; `failed` is null for success. */
export interface FileAnswer {
  readonly id: number;
  readonly failed: string | null;
  readonly paths: readonly string[];
  readonly truncated: boolean;
}

export type FoundFiles = Pick<FileAnswer, "paths" | "truncated">;

/** Finds files of directories by incomplete names, in a separate thread. */
export interface FileFinder {
  /** If the directory is not listed in time, the result has no matches and is marked as truncated. */
  find(search: Omit<FileSearch, "id">): Promise<FoundFiles>;
  close(): Promise<void>;
}

/** The first search of a large directory waits for its list. */
const waitMs = 2_000;
/** After this time, the thread and its indexes, up to 150 MB, are released. */
const idleMs = 5 * 60_000;

/** @param deps `home` is the state folder, which is never listed; git is looked up in `pathVariable` */
export function createFileFinder(deps: {
  readonly clock: Clock;
  readonly pathVariable: string;
  readonly home: string;
  readonly marker: EnvironmentMarker;
}): FileFinder {
  const { clock, pathVariable, home, marker } = deps;
  const open = new Map<number, { resolve(found: FoundFiles): void; reject(error: Error): void }>();
  let worker: Worker | null = null;
  let cancelIdle = (): void => undefined;
  let nextId = 1;

  function started(): Worker {
    const here = import.meta.url;
    const thread = new Worker(new URL(`./file-finder-worker${extname(here)}`, here), {
      workerData: { pathVariable, home, marker },
      resourceLimits: { maxOldGenerationSizeMb: 400 },
    });
    thread.unref();
    thread.on("message", ({ id, failed, ...found }: FileAnswer) => {
      if (failed === null) open.get(id)?.resolve(found);
      else open.get(id)?.reject(new Error(failed));
    });
    thread.on("error", (error) => ended(thread, error));
    thread.on("exit", () => ended(thread, new Error("The thread that finds files exited.")));
    return thread;
  }

  /** The next search starts another thread. */
  function ended(thread: Worker, error: unknown): void {
    if (worker !== thread) return;
    worker = null;
    for (const { reject } of open.values()) reject(error instanceof Error ? error : new Error(String(error)));
  }

  async function close(): Promise<void> {
    cancelIdle();
    const thread = worker;
    if (thread !== null)
      ended(thread, new PosternError("gateway_stopping", "The gateway is stopping. Retry when it is back."));
    await thread?.terminate();
  }

  return {
    async find(search) {
      worker ??= started();
      cancelIdle();
      cancelIdle = clock.after(idleMs, () => void close());
      const id = nextId;
      nextId += 1;
      const { promise, resolve, reject } = Promise.withResolvers<FoundFiles>();
      open.set(id, { resolve, reject });
      const cancelWait = clock.after(waitMs, () => resolve({ paths: [], truncated: true }));
      worker.postMessage({ ...search, id } satisfies FileSearch);
      try {
        return await promise;
      } finally {
        cancelWait();
        open.delete(id);
      }
    },
    close,
  };
}
