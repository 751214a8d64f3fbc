import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type Connection, type HostIdentity, serveConnection } from "./connection.ts";
import type { Host } from "./host.ts";

/** More connections than one gateway with all its viewers ever needs. */
const MAX_CONNECTIONS = 2_048;
/** How often socket and lock are checked: without the socket no gateway finds the host, without the lock another host may run. */
const CHECK_MS = 2_000;

/** Listens on `socketPath` (0600), replacing the socket of a dead host: the caller holds the host lock. */
export async function serveHost(
  host: Host,
  options: {
    readonly socketPath: string;
    readonly identity: HostIdentity;
    readonly clock: Clock;
    readonly log: Log;
    isLockValid(): boolean;
    onConnectionsChange(): void;
    /** Called when the state folder was removed, or when another host uses it. */
    onOrphaned(): void;
  },
) {
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
      if (!options.isLockValid()) options.onOrphaned();
      else if (inodeOf(socketPath) === listening.inode) check();
      else void relisten().finally(check);
    });
  }
  async function relisten(): Promise<void> {
    listening.server.close();
    try {
      listening = await listen(socketPath, accept);
      log.warn({ socketPath }, "the socket was removed; listening again");
    } catch (error) {
      log.error({ socketPath, error: messageOf(error) }, "cannot listen; retrying");
    }
  }
  check();
  return {
    connectionCount: () => connections.size,
    sendLeaving() {
      for (const connection of connections) connection.sendLeaving();
    },
    /** Stops listening and removes the socket, unless it now belongs to another host; connections stay open. */
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
  const umaskBefore = process.umask(0o177); // no other user may connect, from the start
  server.listen(path); // binds before it returns
  process.umask(umaskBefore);
  await once(server, "listening");
  chmodSync(path, 0o600);
  return { server, inode: inodeOf(path) };
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}
