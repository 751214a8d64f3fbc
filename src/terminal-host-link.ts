import { join } from "node:path";
import type { Config } from "./config.ts";
import { systemClock } from "./core/clock.ts";
import type { Log } from "./core/log.ts";
import { makePrivateFolder, makeRunFolder } from "./platform/private-folders.ts";
import { type ConnectedTerminalHost, connectTerminalHost } from "./terminal-host/client.ts";
import { packageVersion } from "./version.ts";

/**
 * Finds this state folder's terminal host, or starts one. Apart from the rest, so that the host starts while the rest is loaded.
 * @throws PosternError `terminal_host_unavailable`, or for a folder that cannot be used
 */
export async function linkTerminalHost(config: Config, log: Log): Promise<ConnectedTerminalHost> {
  await makePrivateFolder(config.home);
  await makeRunFolder(config.runDir);
  return connectTerminalHost({
    socketPath: join(config.runDir, "host.sock"),
    stateDir: join(config.home, "terminal-host"),
    version: packageVersion,
    log,
    clock: systemClock,
  });
}
