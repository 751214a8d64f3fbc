import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { newUuid } from "../../src/core/ids.ts";
import { silentLog } from "../../src/core/log.ts";
import { isAlive, sendSignal } from "../../src/platform/processes.ts";
import {
  type ConnectedTerminalHost,
  connectTerminalHost,
  type TerminalHostOptions,
} from "../../src/terminal-host/client.ts";
import type { SpawnSpec, TerminalInfo, TerminalStream } from "../../src/terminal-host/terminal-info.ts";
import { makeTempFolder } from "./temp-folder.ts";

/** A terminal host for one test, in a temporary folder, ended with it. */
export interface HostFixture {
  readonly options: TerminalHostOptions;
  readonly stateDir: string;
  readonly socketPath: string;
  /** Another client of the same host. */
  connect(options?: Partial<TerminalHostOptions>): Promise<ConnectedTerminalHost>;
}

/** Every host that a client of this test ever reported is killed when the test ends. */
export async function makeHostFixture(overrides: Partial<TerminalHostOptions> = {}): Promise<HostFixture> {
  const folder = await makeTempFolder();
  await chmod(folder, 0o700);
  const stateDir = join(folder, "host");
  const socketPath = join(folder, "host.sock");
  const options = { socketPath, stateDir, log: silentLog, clock: systemClock, idleExitMs: 3_000, ...overrides };
  const clients: ConnectedTerminalHost[] = [];
  onTestFinished(async () => {
    const hosts = clients.map((client) => client.host());
    await Promise.all(clients.map((client) => client.close()));
    for (const host of hosts) {
      if (host === null || !isAlive(host.pid, host.pidStartTime)) continue;
      sendSignal(host.pid, "SIGTERM");
      await waitUntil(() => !isAlive(host.pid, host.pidStartTime), 10_000);
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    options,
    stateDir,
    socketPath,
    async connect(more = {}) {
      const client = await connectTerminalHost({ ...options, ...more });
      clients.push(client);
      return client;
    },
  };
}

/** A spawn of `argv` with a new id and lease. */
export function specOf(argv: readonly [string, ...string[]], more: Partial<SpawnSpec> = {}): SpawnSpec {
  const terminalId = newUuid();
  return {
    terminalId,
    leaseKey: terminalId,
    argv,
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", TERM: "xterm-256color" },
    cols: 80,
    rows: 24,
    ...more,
  };
}

/** A program written as JavaScript, run by this Node. */
export function scriptSpec(script: string, more: Partial<SpawnSpec> = {}): SpawnSpec {
  return specOf([process.execPath, "-e", script], more);
}

/** All output of a stream, as bytes. */
export async function readAll(stream: TerminalStream): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of outputBytes(stream)) parts.push(part);
  return Buffer.concat(parts);
}

/** The output of a stream, without its sizes. */
export async function* outputBytes(stream: TerminalStream): AsyncGenerator<Uint8Array> {
  for await (const part of stream.output) if (part instanceof Uint8Array) yield part;
}

/** Resolves when the program has ended, whenever that was. */
export async function ended(client: ConnectedTerminalHost, terminalId: string): Promise<TerminalInfo> {
  let info: TerminalInfo | undefined;
  await waitUntil(async () => {
    info = (await client.list()).find((one) => one.terminalId === terminalId);
    return info?.exit !== null;
  }, 20_000);
  if (info === undefined) throw new Error(`There is no terminal ${terminalId}.`);
  return info;
}

/** Polls until `condition` holds; fails when it does not in time. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs = 5_000): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`This did not happen within ${timeoutMs} ms: ${condition.toString()}`);
    await systemClock.sleep(10);
  }
}
