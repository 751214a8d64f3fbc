import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { isAlive, sendSignal } from "../../src/platform/processes.ts";
import {
  type ConnectedTerminalHost,
  connectTerminalHost,
  type TerminalHostOptions,
} from "../../src/terminal-host/client.ts";
import { waitUntil } from "./terminal-host.ts";
import { makeTestFolder } from "./test-folder.ts";

/** One terminal host for all tests of a file: started before the first, ended with all its terminals after the last. */
export function useTerminalHost(overrides: Partial<TerminalHostOptions> = {}): () => ConnectedTerminalHost {
  let client: ConnectedTerminalHost | undefined;
  let folder = "";
  beforeAll(async () => {
    folder = makeTestFolder("host");
    client = await connectTerminalHost({
      socketPath: join(folder, "host.sock"),
      stateDir: join(folder, "host"),
      log: silentLog,
      clock: systemClock,
      idleExitMs: 3_000,
      ...overrides,
    });
  });
  afterAll(async () => {
    const host = client?.host() ?? null;
    await client?.close();
    if (host !== null && isAlive(host.pid, host.pidStartTime)) {
      sendSignal(host.pid, "SIGTERM");
      await waitUntil(() => !isAlive(host.pid, host.pidStartTime), 10_000);
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return () => {
    if (client === undefined) throw new Error("Only within a test.");
    return client;
  };
}
