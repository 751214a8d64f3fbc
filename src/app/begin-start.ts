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

/** The first steps of a gateway's start, which need little of the house. */
export interface BegunStart {
  /** Of the state folder: this process alone is its gateway until it is closed. */
  readonly lock: ProcessLock;
  /** Under way: the other processor starts the host while this one loads the rest. */
  readonly linking: Promise<ConnectedTerminalHost>;
}

/**
 * Takes the state folder, then looks for its terminal host or starts one. In this order: two gateways of one state folder would both
 * take up its sessions, and a host without terminals leaves when a gateway of another version asks for it. A port that is taken is
 * found here, so that no host and no store is made in vain.
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
  linking.catch(() => undefined); // told where it is awaited
  return { lock, linking };
}

/**
 * Finds this state folder's terminal host, or starts one. Apart from the rest, so that the host starts while the rest is loaded.
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

/** Longer than the host gives its programs to end by themselves, with what it takes to kill the others. */
const hostEndMs = 10_000;
const hostPollMs = 20;

/**
 * Tells this state folder's terminal host to end its programs and itself, and waits for that.
 * @returns false when it has not ended within ten seconds
 */
export async function endTerminalHost(config: Pick<Config, "runDir">): Promise<boolean> {
  const host = await probeTerminalHost(hostSocketPath(config), systemClock);
  // It may leave by itself meanwhile, and its number be another's.
  if (host === null || !isAlive(host.pid, host.pidStartTime)) return true;
  const deadline = systemClock.now() + hostEndMs;
  sendSignal(host.pid, "SIGTERM");
  while (isAlive(host.pid, host.pidStartTime)) {
    if (systemClock.now() > deadline) return false;
    await systemClock.sleep(hostPollMs);
  }
  return true;
}

function hostSocketPath({ runDir }: Pick<Config, "runDir">): string {
  return join(runDir, "host.sock");
}
