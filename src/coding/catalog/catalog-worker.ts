// The indexing thread: neither its reading nor its writing holds up the gateway.
import { enableCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { IndexingNews, IndexingOrder, IndexingTask } from "./catalog-messages.ts";

const port = parentPort;
if (port === null) throw new Error("This file is run as a thread.");
const order: IndexingOrder = workerData;
if (order.compileCache !== null) enableCompileCache(order.compileCache);
const { runIndexing } = await import("./run-indexing.ts");
const tell = (news: IndexingNews): void => port.postMessage(news);
const indexing = await runIndexing(order, tell);
port.on("message", (task: IndexingTask) => {
  void indexing.run(task).then(() => {
    if (task.kind === "stop") port.close();
  });
});
