import { join } from "node:path";
import { systemClock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { requireFreePort } from "../http/free-port.ts";
import { makeRunFolder, makeStateFolder } from "../platform/private-folders.ts";
import { isAlive, sendSignal } from "../platform/processes.ts";
import { acquireProcessLock, type ProcessLock } from "../storage/process-lock.ts";
import { type ConnectedTerminalHost, connectTerminalHost, probeTerminalHost } from "../terminal-host/client.ts";
import type { Config } from "./config.ts";
import { packageVersion } from "./version.ts";

/** The first steps of a start, which need few modules. */
export interface BegunStart {
  /** The lock of the state folder. */
  readonly lock: ProcessLock;
  /** The host starts while this process loads the rest. */
  readonly linking: Promise<ConnectedTerminalHost>;
}

/**
 * Locks the state folder, then connects to its terminal host or starts one. The lock comes before the host: two gateways must not share
 * sessions, and an idle host exits when a gateway of another version connects. A port in use is detected before a host or store is created.
 * @throws PosternError `gateway_running` | `address_in_use` | `state_folder_unusable`
 */
export async function beginStart(config: Config, log: Log): Promise<BegunStart> {
  await makeStateFolder(config.home);
  const lock = acquireProcessLock(join(config.home, "gateway.lock"));
  try {
    await requireFreePort(config);
  } catch (error) {
    lock.close();
    throw error;
  }
  const linking = linkTerminalHost(config, log);
  linking.catch(() => undefined); // handled where it is awaited
  return { lock, linking };
}

/**
 * Connects to this state folder's terminal host, or starts one.
 * @throws PosternError `terminal_host_unavailable` | `run_dir_unsafe` | `state_folder_unusable`
 */
export async function linkTerminalHost(config: Config, log: Log): Promise<ConnectedTerminalHost> {
  await makeRunFolder(config.runDir);
  return connectTerminalHost({
    socketPath: hostSocketPath(config),
    stateDir: join(config.home, "terminal-host"),
    version: packageVersion,
    log,
    clock: systemClock,
  });
}

/** Longer than the host gives its programs to exit before it kills them. */
const hostEndMs = 10_000;
const hostPollMs = 20;

/**
 * Ends this state folder's terminal host and its programs.
 * @returns false when it is still running after ten seconds
 */
export async function endTerminalHost(config: Pick<Config, "runDir">): Promise<boolean> {
  const host = await probeTerminalHost(hostSocketPath(config), systemClock);
  // It may have exited since, and its pid been reused.
  if (host === null || !isAlive(host.pid, host.pidStartTime)) return true;
  const deadline = systemClock.now() + hostEndMs;
  sendSignal(host.pid, "SIGTERM");
  while (isAlive(host.pid, host.pidStartTime)) {
    if (systemClock.now() > deadline) return false;
    await systemClock.sleep(hostPollMs);
  }
  return true;
}

export function hostSocketPath({ runDir }: Pick<Config, "runDir">): string {
  return join(runDir, "host.sock");
}
