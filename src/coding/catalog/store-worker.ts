// The writing thread of the indexing process. Each task is answered.
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../core/errors.ts";
import { silentLog } from "../../core/log.ts";
import { createBatchStore } from "./batch-store.ts";
import { openCatalogDatabase, prepareForWriting } from "./catalog-database.ts";
import type { StoreAnswer, StoreTask, StoreThreadOrder } from "./store-messages.ts";
import { createTextIndex } from "./text-index.ts";

const { place }: StoreThreadOrder = workerData;
const opening = open();
opening.catch(() => undefined); // told with the first task

async function open() {
  // The process has opened the catalog before, and told what there was to tell.
  const database = await openCatalogDatabase(place, silentLog);
  await prepareForWriting(database);
  const store = createBatchStore({
    database,
    createTextIndex: (tx) => createTextIndex(tx, database.dialect),
  });
  return { database, store };
}

async function perform(task: StoreTask): Promise<void> {
  const { database, store } = await opening;
  switch (task.kind) {
    case "put":
      return store.put(task.batch);
    case "close":
      return database.close();
  }
}

parentPort?.on("message", (task: StoreTask) => {
  const answer = (failed: string | null): void => parentPort?.postMessage({ failed } satisfies StoreAnswer);
  perform(task).then(
    () => answer(null),
    (error: unknown) => answer(messageOf(error)),
  );
});
