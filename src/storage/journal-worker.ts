import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";

// Empties the journal of a store when it is asked to, on a connection of its own, and answers whether it is empty now. Nobody waits for a
// lock here: who asked asks again.
const { path } = z.object({ path: z.string() }).parse(workerData);
const store = new DatabaseSync(path, { timeout: 0 });

parentPort?.on("message", () => {
  // All of it is copied while others read and write; then little is left to do with the store to itself.
  store.exec("PRAGMA wal_checkpoint(PASSIVE)");
  const busy = store.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"];
  parentPort?.postMessage({ isEmpty: busy === 0 });
});
