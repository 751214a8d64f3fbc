// The writer thread of the indexing process. Each task but the first is answered.
import { parentPort } from "node:worker_threads";
import { messageOf } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { type BatchStore, createBatchStore } from "./batch-store.ts";
import { type CatalogDatabase, type CatalogPlace, openCatalogDatabase, prepareForWriting } from "./catalog-database.ts";
import type { StoreAnswer, StoreTask } from "./store-thread.ts";
import { createTextIndex } from "./text-index.ts";

interface Opened {
  readonly database: CatalogDatabase;
  readonly store: BatchStore;
}

let opening: Promise<Opened> | undefined;

async function open(place: CatalogPlace): Promise<Opened> {
  // The process opened the catalog before and logged any problem.
  const database = await openCatalogDatabase(place, silentLog);
  await prepareForWriting(database);
  const store = createBatchStore({ database, createTextIndex: (tx) => createTextIndex(tx, database.dialect) });
  return { database, store };
}

async function perform(task: Exclude<StoreTask, { kind: "open" }>): Promise<void> {
  const opened = await opening;
  if (task.kind === "put") await opened?.store.put(task.batch);
  else await opened?.database.close();
}

parentPort?.on("message", (task: StoreTask) => {
  if (task.kind === "open") {
    opening = open(task.place);
    opening.catch(() => undefined); // reported with the next task
    return;
  }
  const answer = (failed: string | null): void => parentPort?.postMessage({ failed } satisfies StoreAnswer);
  perform(task).then(
    () => answer(null),
    (error: unknown) => answer(messageOf(error)),
  );
});
