import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { BatchStore } from "./batch-store.ts";
import type { CatalogPlace } from "./catalog-database.ts";
import type { Checkpoint } from "./transcript-scan.ts";

/** A batch store that has something to let go of. */
export interface ClosableStore extends BatchStore {
  /** Idempotent. */
  close(): Promise<void>;
}

/** The first page, and a transcript that grew, are written sooner than a thread is there. */
const smallBatch = 24;
const smallCharacters = 200_000;

/**
 * Writes small batches by `direct`, and large ones by a thread of its own while this one reads on: the words of a gigabyte of transcripts
 * take as long to store as to find. The thread starts with the first large batch.
 */
export function createThreadedStore(place: CatalogPlace, direct: BatchStore): ClosableStore {
  let thread: ReturnType<typeof startStoreThread> | null = null;
  return {
    put(batch) {
      const characters = batch.reduce((sum, { texts }) => texts.reduce((all, { text }) => all + text.length, sum), 0);
      if (batch.length <= smallBatch && characters <= smallCharacters) return direct.put(batch);
      thread ??= startStoreThread(place);
      return thread.put(batch);
    },
    remove: (paths) => direct.remove(paths),
    close: async () => thread?.close(),
  };
}

/** Opens a connection of its own. */
function startStoreThread(place: CatalogPlace): Omit<ClosableStore, "remove"> {
  const here = import.meta.url;
  const worker = new Worker(new URL(`./store-worker${extname(here)}`, here));
  worker.postMessage({ kind: "open", place } satisfies StoreTask);
  let pending: PromiseWithResolvers<void> | null = null;
  let ended: Error | null = null;
  let closing: Promise<void> | null = null;

  worker.on("message", ({ failed }: StoreAnswer) => {
    if (failed === null) pending?.resolve();
    else pending?.reject(new Error(failed));
    pending = null;
  });
  worker.on("error", end);
  worker.on("exit", () => end(new Error("The thread that writes the catalog ended.")));

  function end(error: Error): void {
    ended ??= error;
    pending?.reject(ended);
    pending = null;
  }

  function run(task: StoreTask): Promise<void> {
    if (ended !== null) return Promise.reject(ended);
    pending = Promise.withResolvers<void>();
    worker.postMessage(task);
    return pending.promise;
  }

  async function close(): Promise<void> {
    if (ended === null) await run({ kind: "close" });
    await worker.terminate();
  }

  return {
    put: (batch) => run({ kind: "put", batch }),
    close: () => (closing ??= close()),
  };
}

/** What the writing thread is told: where to write, first of all; then one thing at a time, each of which it answers. */
export type StoreTask =
  | { readonly kind: "open"; readonly place: CatalogPlace }
  | { readonly kind: "put"; readonly batch: readonly Checkpoint[] }
  | { readonly kind: "close" };

/** What became of a task; null is well. */
export interface StoreAnswer {
  readonly failed: string | null;
}
