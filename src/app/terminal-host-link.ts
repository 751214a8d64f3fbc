import { join } from "node:path";
import { systemClock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { makeRunFolder } from "../platform/private-folders.ts";
import { isAlive, sendSignal } from "../platform/processes.ts";
import { type ConnectedTerminalHost, connectTerminalHost, probeTerminalHost } from "../terminal-host/client.ts";
import type { Config } from "./config.ts";
import { packageVersion } from "./version.ts";

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
