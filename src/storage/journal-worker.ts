import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";

// Empties a store's journal on request, over its own connection, and answers whether it is empty now. Does not wait for locks: the caller
// retries.
const { path } = z.object({ path: z.string() }).parse(workerData);
const store = new DatabaseSync(path, { timeout: 0 });

parentPort?.on("message", () => {
  // Copies everything while others read and write, so that the exclusive part is short.
  store.exec("PRAGMA wal_checkpoint(PASSIVE)");
  const busy = store.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"];
  parentPort?.postMessage({ isEmpty: busy === 0 });
});
