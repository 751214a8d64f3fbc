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

/** The indexing process's work, without the process. */
export interface Indexing {
  /** Never rejects: `done` or `failed` is told. */
  run(task: IndexingTask): Promise<void>;
}

/** More often than this nobody looks. */
const progressMs = 50;

/** Opens the catalog for writing and waits for tasks. */
export async function runIndexing(order: IndexingOrder, tell: (news: IndexingNews) => void): Promise<Indexing> {
  const log = toldLog(tell);
  const database = await openCatalogDatabase(order.place, log);
  await prepareForWriting(database);
  const createIndex = (tx: CatalogDatabase["db"]): TextIndex => createTextIndex(tx, database.dialect);
  const store = createThreadedStore(order.place, createBatchStore({ database, createTextIndex: createIndex }));
  let folders: string[] = [];
  let toldAt = Number.NEGATIVE_INFINITY;

  function tellFolders(): void {
    if (folders.length > 0) tell({ kind: "folders", paths: folders });
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
      tellFolders();
      if (performance.now() - toldAt < progressMs) return;
      toldAt = performance.now();
      tell({ kind: "progress", progress: indexer.progress() });
    },
    onFolder: (path) => void folders.push(path),
  });

  /** @returns whether a reader was in the way */
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
          // What it wrote to the journal takes the room that others need.
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
        toldAt = Number.NEGATIVE_INFINITY;
        const isHeldUp = await perform(task);
        tellFolders();
        const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
        const cpuMs = Math.round((userCPUTime + systemCPUTime) / 1000);
        tell({ kind: "done", progress: indexer.progress(), peakRssBytes: maxRSS * 1024, cpuMs, isHeldUp });
      } catch (error) {
        tell({ kind: "failed", reason: messageOf(error) });
      }
    },
  };
}

function toldLog(tell: (news: IndexingNews) => void): Log {
  const at =
    (level: keyof Log) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      tell({ kind: "log", level, fields, message });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
