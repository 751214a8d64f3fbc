import { getCompileCacheDir } from "node:module";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import type { IndexingNews, IndexingOrder, IndexingTask } from "./catalog-messages.ts";

/** A thread for indexing that is there while there is something to do: it takes 30 MB. */
export interface IndexingThread {
  /**
   * Does one task, which must not begin before the last one has ended.
   * @throws when it failed, or the thread died
   */
  run(task: Exclude<IndexingTask, { kind: "stop" }>): Promise<CatalogProgress>;
  /** Ends the thread within {@link keepMs} or at once; the next task starts another. */
  rest(options: { readonly keepMs: number }): void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** What {@link createIndexingThread} needs. */
export interface IndexingThreadDeps {
  readonly order: Omit<IndexingOrder, "compileCache">;
  readonly clock: Clock;
  readonly log: Log;
  onProgress(progress: CatalogProgress): void;
  onFolders(paths: readonly string[]): void;
}

/** A thread that was told to stop and does not is ended. */
const stopMs = 2_000;

interface Running {
  readonly worker: Worker;
  task: { resolve(progress: CatalogProgress): void; reject(error: Error): void } | null;
}

/** Starts nothing before the first task. */
export function createIndexingThread(deps: IndexingThreadDeps): IndexingThread {
  const { clock, log } = deps;
  let running: Running | null = null;
  let cancelRest: (() => void) | null = null;
  let ending: Promise<void> = Promise.resolve();
  let closed = false;

  function start(): Running {
    const here = import.meta.url;
    const worker = new Worker(new URL(`./catalog-worker${extname(here)}`, here), {
      // What a reader of transcripts may need; a leak ends the thread and not the gateway.
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    worker.postMessage({ ...deps.order, compileCache: getCompileCacheDir() ?? null } satisfies IndexingOrder);
    const started: Running = { worker, task: null };
    const fail = (error: Error): void => {
      if (running === started) running = null;
      started.task?.reject(error);
      started.task = null;
    };
    worker.on("message", (news: IndexingNews) => onNews(started, news));
    worker.on("error", (error) => fail(error instanceof Error ? error : new Error(messageOf(error))));
    worker.on("exit", () => fail(new Error("The indexing thread ended.")));
    worker.unref();
    return started;
  }

  function onNews(from: Running, news: IndexingNews): void {
    switch (news.kind) {
      case "progress":
        return deps.onProgress(news.progress);
      case "folders":
        return deps.onFolders(news.paths);
      case "log":
        return log[news.level](news.fields, news.message);
      case "done":
        from.task?.resolve(news.progress);
        from.task = null;
        return undefined;
      case "failed":
        from.task?.reject(new Error(news.reason));
        from.task = null;
        return undefined;
    }
  }

  function end(): void {
    cancelRest?.();
    cancelRest = null;
    const { worker } = running ?? {};
    running = null;
    if (worker === undefined) return;
    ending = new Promise((resolve) => {
      const cancel = clock.after(stopMs, () => void worker.terminate());
      worker.on("exit", () => {
        cancel();
        resolve();
      });
      worker.postMessage({ kind: "stop" } satisfies IndexingTask);
    });
  }

  return {
    async run(task) {
      cancelRest?.();
      cancelRest = null;
      await ending; // two threads would write side by side
      if (closed) throw new Error("The catalog is closed.");
      running ??= start();
      const mine = running;
      return new Promise((resolve, reject) => {
        mine.task = { resolve, reject };
        mine.worker.postMessage(task);
      });
    },
    rest({ keepMs }) {
      cancelRest?.();
      cancelRest = clock.after(keepMs, end);
    },
    async close() {
      closed = true;
      const { worker, task } = running ?? {};
      if (task !== null && task !== undefined)
        await worker?.terminate(); // in the middle of something: what is stored is whole
      else end();
      await ending;
    },
  };
}
