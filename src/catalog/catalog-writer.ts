import type { BatchStore } from "./batch-store.ts";
import type { Checkpoint } from "./transcript-scan.ts";

/** Stores what scans found, many checkpoints in one short transaction. */
export interface CatalogWriter {
  /** Stored soon, and together with all that is waiting; waits when that is much. */
  put(checkpoint: Checkpoint): Promise<void>;
  /** Stores what is waiting. @throws the error of a transaction that failed */
  flush(): Promise<void>;
  /** Forgets transcripts by their paths. */
  remove(paths: readonly string[]): Promise<void>;
}

/** What {@link createCatalogWriter} needs. */
export interface CatalogWriterDeps {
  readonly store: BatchStore;
  /** Called after each transaction. */
  onStored(): void;
}

/** A transaction with more than this would hold up the next reader's look at what is new, and the memory. */
const maxCheckpoints = 200;
const maxCharacters = 2_000_000;
/** A first page of sessions is there to be read before the rest is. */
const firstCheckpoints = 24;

/** One writer for each catalog. Calls may overlap. */
export function createCatalogWriter({ store, onStored }: CatalogWriterDeps): CatalogWriter {
  let waiting: Checkpoint[] = [];
  let characters = 0;
  let stored = 0;
  /** The newest transaction, which comes after all before; the error of one that failed is for whoever waits for it next. */
  let newest: Promise<void> = Promise.resolve();

  function write(task: () => Promise<void>): Promise<void> {
    newest = newest.then(task).then(onStored);
    newest.catch(() => undefined); // until somebody waits for it
    return newest;
  }

  function writeWaiting(): Promise<void> {
    const batch = waiting;
    waiting = [];
    characters = 0;
    if (batch.length === 0) return newest;
    stored += batch.length;
    return write(() => store.put(batch));
  }

  async function flush(): Promise<void> {
    try {
      await writeWaiting();
    } finally {
      newest = newest.catch(() => undefined); // it was told; the next one begins anew
    }
  }

  return {
    async put(checkpoint) {
      waiting.push(checkpoint);
      for (const { text } of checkpoint.texts) characters += text.length;
      const most = stored === 0 ? firstCheckpoints : maxCheckpoints;
      if (waiting.length < most && characters < maxCharacters) return;
      // One batch is written while the next one is read: more than that would fill the memory.
      const before = newest;
      void writeWaiting();
      await before;
    },
    flush,
    async remove(paths) {
      await flush();
      if (paths.length > 0) await write(() => store.remove(paths));
    },
  };
}
