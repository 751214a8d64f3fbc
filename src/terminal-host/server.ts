import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { type Connection, type HostIdentity, serveConnection } from "./connection.ts";
import type { Host } from "./host.ts";

/** The host's socket. */
export interface HostServer {
  connectionCount(): number;
  close(): Promise<void>;
}

/** More than one gateway with all its viewers ever needs. */
const MAX_CONNECTIONS = 2_048;

/** Listens on `socketPath` (0600), taking over what a dead host left there: the caller holds the host lock. */
export async function serveHost(
  host: Host,
  options: { readonly socketPath: string; readonly identity: HostIdentity; onConnectionsChange(): void },
): Promise<HostServer> {
  const { socketPath } = options;
  const connections = new Set<Connection>();
  const server = createServer((socket) => {
    const connection = serveConnection(socket, host, options.identity);
    connections.add(connection);
    options.onConnectionsChange();
    socket.on("close", () => {
      connections.delete(connection);
      options.onConnectionsChange();
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  host.onExit((terminalId, exit) => {
    for (const connection of connections) connection.sendExit(terminalId, exit);
  });
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  rmSync(socketPath, { force: true });
  const umaskBefore = process.umask(0o177); // from its first moment nobody else may connect
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath, resolve);
    });
  } finally {
    process.umask(umaskBefore);
  }
  chmodSync(socketPath, 0o600);
  return {
    connectionCount: () => connections.size,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
