import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type ApiClient, createApiClient, type World } from "./gateway.ts";
import { type ServingProcess, servePostern } from "./postern-process.ts";
import { withBundles } from "./with-bundles.ts";

/** `postern serve`, with the scripted agent. */
const scriptedServer = join(import.meta.dirname, "../scripted-agent/serve.ts");

/** A gateway in a separate process, which a test can kill. */
export interface ServingGateway {
  readonly server: ServingProcess;
  readonly token: string;
  readonly api: ApiClient;
}

/** Starts `postern serve`, with the scripted agent if this world has it. */
export function startServing(world: World, { port = 0 }: { readonly port?: number } = {}): Promise<ServingProcess> {
  const command = [process.execPath, ...withBundles, scriptedServer] as const;
  return servePostern({ ...world.env }, { port, ...(world.furtherAgents.length === 0 ? {} : { command }) });
}

/** `postern serve` on a store that `prepareStore` made; killed at the latest when the running test ends. */
export async function serveWorld(
  world: World,
  token: string,
  { port = 0 }: { readonly port?: number } = {},
): Promise<ServingGateway> {
  const server = await startServing(world, { port });
  onTestFinished(async () => void (await server.end("SIGKILL")));
  return { server, token, api: createApiClient(server.url, token) };
}

/** Waits until the hooks of this world's agents have reported this so often, whether or not a gateway runs. */
export async function untilReported(
  world: World,
  hook: "UserPromptSubmit" | "Stop",
  { count }: { readonly count: number },
): Promise<void> {
  const sessions = join(world.home, "sessions");
  const reports = async (): Promise<number> => {
    const inboxes = (await readdir(sessions)).map((launch) => readFile(join(sessions, launch, "inbox.jsonl"), "utf8"));
    return (await Promise.all(inboxes)).join("").split(`"hook_event_name":"${hook}"`).length - 1;
  };
  await expect.poll(reports, { timeout: 30_000 }).toBe(count);
}
