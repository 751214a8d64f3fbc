// The indexing process: neither its reading and writing nor its memory is the gateway's. The first message is its order, all others
// are tasks. It ends when it is told to, and when the gateway is gone.
import type { IndexingNews, IndexingOrder, IndexingTask } from "./indexing-process.ts";
import { type Indexing, runIndexing } from "./run-indexing.ts";

let indexing: Promise<Indexing> | undefined;

function tell(news: IndexingNews): void {
  // It fails when the gateway was killed: "disconnect" follows, and ends this process.
  if (process.connected) process.send?.(news, undefined, undefined, () => undefined);
}

async function work(task: IndexingTask): Promise<void> {
  await (await indexing)?.run(task);
  if (task.kind === "stop" && process.connected) process.disconnect();
}

process.on("message", (message: IndexingOrder | IndexingTask) => {
  if ("place" in message) indexing = runIndexing(message, tell);
  else void work(message);
});
// In the middle of something nobody waits for the rest: what is stored is whole.
process.on("disconnect", () => {
  process.kill(process.pid, "SIGKILL");
});
