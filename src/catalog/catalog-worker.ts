// The indexing process. The first message is its configuration, all others are tasks. It exits on request, and when the gateway is gone.
import type { IndexingNews, IndexingOrder, IndexingTask } from "./indexing-process.ts";
import { type Indexing, runIndexing } from "./run-indexing.ts";

let indexing: Promise<Indexing> | undefined;

function send(news: IndexingNews): void {
  // Fails if the gateway was killed: "disconnect" follows and ends this process.
  if (process.connected) process.send?.(news, undefined, undefined, () => undefined);
}

async function work(task: IndexingTask): Promise<void> {
  await (await indexing)?.run(task);
  if (task.kind === "stop" && process.connected) process.disconnect();
}

process.on("message", (message: IndexingOrder | IndexingTask) => {
  if ("place" in message) indexing = runIndexing(message, send);
  else void work(message);
});
// Stored data is consistent, so the current task need not finish.
process.on("disconnect", () => {
  process.kill(process.pid, "SIGKILL");
});
