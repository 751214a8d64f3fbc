import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { z } from "zod";

/** Far longer than it takes. */
const loadTimeoutMs = 60_000;

/** The script of the API reference, compressed with gzip. Loaded when it is first asked for, in a thread of its own. */
export function createDocsScript(): () => Promise<Buffer> {
  let script: Promise<Buffer> | undefined;
  return () => {
    script ??= load().catch((error: unknown) => {
      script = undefined; // the next one who asks tries again
      throw error;
    });
    return script;
  };
}

async function load(): Promise<Buffer> {
  const here = import.meta.url;
  const worker = new Worker(new URL(`./docs-worker${extname(here)}`, here));
  try {
    const told: unknown = await once(worker, "message", { signal: AbortSignal.timeout(loadTimeoutMs) });
    const [script] = z.tuple([z.instanceof(Uint8Array)]).parse(told);
    return Buffer.from(script);
  } finally {
    await worker.terminate();
  }
}
