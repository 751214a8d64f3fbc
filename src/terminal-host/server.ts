import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Connection, type HostIdentity, serveConnection } from "./connection.ts";
import type { Host } from "./host.ts";
import type { HostLock } from "./host-lock.ts";

/** The host's socket. */
export interface HostServer {
  connectionCount(): number;
  /** Tells all gateways that the host leaves. */
  tellLeaving(): void;
  /** Removes the socket, unless it is another host's by now, and listens no more; who is connected stays so. */
  removeSocket(): void;
}

/** More than one gateway with all its viewers ever needs. */
const MAX_CONNECTIONS = 2_048;
/** How often socket and lock are looked for: without the one no gateway would find the host, without the other it is not the host. */
const CHECK_MS = 2_000;

/** Listens on `socketPath` (0600), taking over what a dead host left there: the caller holds the host lock. */
export async function serveHost(
  host: Host,
  options: {
    readonly socketPath: string;
    readonly identity: HostIdentity;
    readonly clock: Clock;
    readonly log: Log;
    readonly lock: Pick<HostLock, "stands">;
    onConnectionsChange(): void;
    /** The state folder was removed, or is another host's by now. */
    onOrphaned(): void;
  },
): Promise<HostServer> {
  const { socketPath, clock, log } = options;
  const connections = new Set<Connection>();
  host.onExit((terminalId, exit) => {
    for (const connection of connections) connection.sendExit(terminalId, exit);
  });

  function accept(socket: Socket): void {
    const connection = serveConnection(socket, { host, identity: options.identity, clock });
    connections.add(connection);
    options.onConnectionsChange();
    socket.on("close", () => {
      connections.delete(connection);
      options.onConnectionsChange();
    });
  }

  let listening = await listen(socketPath, accept);
  let isRemoved = false;
  function check(): void {
    clock.after(CHECK_MS, () => {
      if (isRemoved) return;
      if (!options.lock.stands()) options.onOrphaned();
      else if (inodeOf(socketPath) === listening.inode) check();
      else void relisten().finally(check);
    });
  }
  async function relisten(): Promise<void> {
    listening.server.close();
    try {
      listening = await listen(socketPath, accept);
      log.warn({ socketPath }, "the socket was gone; listening again");
    } catch (error) {
      log.error({ socketPath, error: messageOf(error) }, "cannot listen; trying again");
    }
  }
  check();
  return {
    connectionCount: () => connections.size,
    tellLeaving() {
      for (const connection of connections) connection.sendLeaving();
    },
    removeSocket() {
      isRemoved = true;
      if (inodeOf(socketPath) === listening.inode) rmSync(socketPath, { force: true });
      listening.server.close();
    },
  };
}

async function listen(path: string, accept: (socket: Socket) => void): Promise<{ server: Server; inode: number }> {
  const server = createServer(accept);
  server.maxConnections = MAX_CONNECTIONS;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  const umaskBefore = process.umask(0o177); // from its first moment nobody else may connect
  server.listen(path); // binds before it returns
  process.umask(umaskBefore);
  await once(server, "listening");
  chmodSync(path, 0o600);
  return { server, inode: inodeOf(path) };
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}
