// The indexing thread: neither its reading nor its writing holds up the gateway. The first message is its order, all others are tasks.
import { enableCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import type { IndexingNews, IndexingOrder, IndexingTask } from "./catalog-messages.ts";
import type { Indexing } from "./run-indexing.ts";

const port = parentPort;
if (port === null) throw new Error("This file is run as a thread.");
let indexing: Promise<Indexing> | undefined;

async function begin(order: IndexingOrder): Promise<Indexing> {
  if (order.compileCache !== null) enableCompileCache(order.compileCache);
  const { runIndexing } = await import("./run-indexing.ts");
  return runIndexing(order, (news: IndexingNews) => port?.postMessage(news));
}

async function work(task: IndexingTask): Promise<void> {
  await (await indexing)?.run(task);
  if (task.kind === "stop") port?.close();
}

port.on("message", (message: IndexingOrder | IndexingTask) => {
  if ("place" in message) indexing = begin(message);
  else void work(message);
});
