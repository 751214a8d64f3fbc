import { join } from "node:path";
import type { Log } from "../core/log.ts";
import { requireFreePort } from "../http/free-port.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import { acquireProcessLock, type ProcessLock } from "../storage/process-lock.ts";
import type { ConnectedTerminalHost } from "../terminal-host/client.ts";
import type { Config } from "./config.ts";
import { linkTerminalHost } from "./terminal-host-link.ts";

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
