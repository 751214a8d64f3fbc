import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createBatchStore } from "./batch-store.ts";
import {
  type CatalogDatabase,
  emptyCatalogJournal,
  openCatalogDatabase,
  prepareForWriting,
  rewriteCatalog,
} from "./catalog-database.ts";
import { createCatalogIndexer } from "./catalog-indexer.ts";
import type { IndexingNews, IndexingOrder, IndexingTask } from "./indexing-process.ts";
import { createThreadedStore } from "./store-thread.ts";
import { createTextIndex } from "./text-index.ts";
import { createTextCollector, type TextIndex } from "./turn-collector.ts";

/** The work of the indexing process. */
export interface Indexing {
  /** Never rejects: reports `done` or `failed`. */
  run(task: IndexingTask): Promise<void>;
}

/** Minimum interval of progress reports. */
const progressMs = 50;

/** Opens the catalog for writing and waits for tasks. */
export async function runIndexing(order: IndexingOrder, report: (news: IndexingNews) => void): Promise<Indexing> {
  const log = remoteLog(report);
  const database = await openCatalogDatabase(order.place, log);
  await prepareForWriting(database);
  const createIndex = (tx: CatalogDatabase["db"]): TextIndex => createTextIndex(tx, database.dialect);
  const store = createThreadedStore(order.place, createBatchStore({ database, createTextIndex: createIndex }));
  let folders: string[] = [];
  let reportedAt = Number.NEGATIVE_INFINITY;

  function reportFolders(): void {
    if (folders.length > 0) report({ kind: "folders", paths: folders });
    folders = [];
  }

  const indexer = createCatalogIndexer({
    database,
    sources: order.sources,
    createCollector: createTextCollector,
    forgotten: order.forgotten,
    store,
    clock: systemClock,
    log,
    onProgress() {
      reportFolders();
      if (performance.now() - reportedAt < progressMs) return;
      reportedAt = performance.now();
      report({ kind: "progress", progress: indexer.progress() });
    },
    onFolder: (path) => void folders.push(path),
  });

  /** @returns whether a reader prevented it */
  async function perform(task: IndexingTask): Promise<boolean> {
    if (task.kind === "empty") return !(await emptyCatalogJournal(database));
    await index(task);
    return false;
  }

  async function index(task: Exclude<IndexingTask, { kind: "empty" }>): Promise<void> {
    switch (task.kind) {
      case "sweep":
        return indexer.sweep();
      case "rebuild":
        return indexer.rebuild();
      case "look":
        return indexer.look(task.paths);
      case "forget":
        await indexer.forget(task.sessions);
        return rewriteCatalog(database).catch(async (error: unknown) => {
          // Frees the space its journal took.
          await emptyCatalogJournal(database).catch(() => false);
          throw error;
        });
      case "stop":
        await store.close();
        return database.close();
    }
  }

  return {
    async run(task) {
      try {
        reportedAt = Number.NEGATIVE_INFINITY;
        const isHeldUp = await perform(task);
        reportFolders();
        const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
        const cpuMs = Math.round((userCPUTime + systemCPUTime) / 1000);
        report({ kind: "done", progress: indexer.progress(), peakRssBytes: maxRSS * 1024, cpuMs, isHeldUp });
      } catch (error) {
        report({ kind: "failed", reason: messageOf(error) });
      }
    },
  };
}

function remoteLog(report: (news: IndexingNews) => void): Log {
  const at =
    (level: keyof Log) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      report({ kind: "log", level, fields, message });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
