import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { BatchStore } from "./batch-store.ts";
import type { CatalogPlace } from "./catalog-database.ts";
import type { Checkpoint } from "./transcript-scan.ts";

export interface ClosableStore extends BatchStore {
  /** Idempotent. */
  close(): Promise<void>;
}

/** Small batches are written sooner than a thread starts. */
const smallBatch = 24;
const smallCharacters = 200_000;

/**
 * Writes small batches with `direct`, and large ones in a thread while this one continues reading: storing the words of transcripts takes as long
 * as reading them. The thread starts with the first large batch.
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
  worker.on("exit", () => end(new Error("The catalog writer thread exited.")));

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

/** A message to the writer thread. All but `open`, the first, are answered. */
export type StoreTask =
  | { readonly kind: "open"; readonly place: CatalogPlace }
  | { readonly kind: "put"; readonly batch: readonly Checkpoint[] }
  | { readonly kind: "close" };

/** The result of a task; null for success. */
export interface StoreAnswer {
  readonly failed: string | null;
}
