import { once } from "node:events";
import { chmod, lstat, mkdir, unlink } from "node:fs/promises";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { watchSocket } from "../core/socket-watch.ts";
import { portTaken } from "./free-port.ts";

// Importing node:http evaluates its lazy exports and loads an HTTP client, which adds 65 ms to each start.
const { createServer } = process.getBuiltinModule("node:http");

/** Maximum connections on the owner's socket; more are rejected. */
const maxOwnerConnections = 1_024;
const headersTimeoutMs = 10_000;
/** Connections waiting to be accepted. Node's default of 511 fills up in a flood, which delays callers by a second or more. */
const backlog = 4_096;
/** How often Node checks request timeouts. With its default of 30 s, a timeout could take 30 s longer. */
const timeoutCheckMs = 1_000;
const requestTimeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/** Attempts to find a port that is free on all addresses. */
const portAttempts = 10;

export interface Listening {
  readonly port: number;
  /** `http://…` of each address. */
  readonly addresses: readonly string[];
  readonly servers: readonly Server[];
  /** Stops recreating the owner's socket when it is removed. Call it before closing the servers. */
  stopWatching(): Promise<void>;
}

export interface ListenOptions {
  readonly hosts: readonly string[];
  /** 0 uses any free port. */
  readonly port: number;
  /** The owner's Unix socket; null for none. */
  readonly socketPath: string | null;
  readonly onRequest: RequestListener;
  readonly onUpgrade: (request: IncomingMessage, connection: Duplex, head: Buffer) => void;
  /** Called with each connection of the Unix socket before its first request. */
  readonly onOwnerConnection: (socket: Socket) => void;
  /** Called with each TCP connection before its first request; closes excess connections. */
  readonly onConnection: (socket: Socket) => void;
  /** Called with the port, before the first request can arrive. */
  readonly onPort: (port: number) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws PosternError `address_in_use` | `address_not_available` | `gateway_running` */
export async function openListeners(options: ListenOptions): Promise<Listening> {
  const { socketPath } = options;
  const servers: Server[] = [];
  try {
    // Opens the socket first, because its error reports a gateway that is already running.
    if (socketPath !== null) servers.push(await listenOnSocket(socketPath, options));
    const onTcp = await listenOnTcp(options);
    servers.push(...onTcp.servers);
    const stopWatching = socketPath === null ? async () => undefined : watchOwnerSocket(socketPath, servers, options);
    return { ...onTcp, servers, stopWatching };
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
}

function newServer({ onRequest, onUpgrade }: ListenOptions): Server {
  const timeouts = {
    requestTimeout: 0, // `limitBody` limits the time for bodies
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    keepAliveTimeout: 10_000,
  };
  const server = createServer({ ...timeouts, shouldUpgradeCallback: isWebSocket }, onRequest);
  server.on("upgrade", onUpgrade);
  server.on("clientError", answerBrokenRequest);
  return server;
}

/** Other upgrades, such as curl's `h2c`, are ignored (RFC 9110 section 7.8). */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Handles invalid and incomplete requests, which never reach a route.
 *
 * Browsers open connections in advance. An idle one is closed without a response, because a request sent at that moment would receive the response as
 * its own. A partial request gets a 408, after which clients retry (RFC 9110 section 15.5.9).
 */
export function answerBrokenRequest(error: Error, socket: Duplex & { readonly bytesRead?: number }): void {
  const late = isErrno(error, "ERR_HTTP_REQUEST_TIMEOUT");
  if (isErrno(error, "ECONNRESET") || !socket.writable || (late && socket.bytesRead === 0)) {
    socket.destroy();
    return;
  }
  if (late) {
    endWith(socket, requestTimeout);
    return;
  }
  const tooLarge = isErrno(error, "HPE_HEADER_OVERFLOW");
  const [status, code] = tooLarge ? ["413 Content Too Large", "too_large"] : ["400 Bad Request", "invalid_request"];
  const body = JSON.stringify({
    type: `/docs/problems#${code}`,
    title: tooLarge ? "Too large" : "Invalid request",
    status: tooLarge ? 413 : 400,
    code,
    detail: tooLarge ? "The request headers are too large." : "This is not a valid HTTP request.",
  });
  const head = [`HTTP/1.1 ${status}`, "Content-Type: application/problem+json", `Content-Length: ${body.length}`];
  endWith(socket, `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${body}`);
}

/** Closes the connection of a request whose body did not arrive in time. */
export function endLate({ req: { socket }, headersSent }: ServerResponse): void {
  if (headersSent) socket.destroy();
  else endWith(socket, requestTimeout);
}

/** Sends the last data and closes the connection. `end` alone would wait for the client to close it too. */
export function endWith(socket: Duplex, text: string): void {
  socket.end(text, () => socket.destroy());
}

/** The first of `servers` listens on the socket. A replaced server finishes its requests. */
function watchOwnerSocket(path: string, servers: Server[], options: ListenOptions): () => Promise<void> {
  return watchSocket(path, {
    ...options,
    async listen() {
      servers[0]?.close(); // must precede listening, because closing removes the file at this path
      servers.unshift(await listenOnSocket(path, options));
    },
  });
}

async function listenOnTcp(options: ListenOptions): Promise<Omit<Listening, "stopWatching">> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listenOnOnePort(options);
    } catch (error) {
      const another = options.port === 0 && error instanceof PosternError && error.code === "address_in_use";
      if (!another || attempt >= portAttempts) throw error;
    }
  }
}

async function listenOnOnePort(options: ListenOptions): Promise<Omit<Listening, "stopWatching">> {
  const servers: Server[] = [];
  const addresses: string[] = [];
  let port = options.port;
  try {
    for (const host of options.hosts) {
      const server = newServer(options);
      server.on("connection", options.onConnection);
      if (!(await listen(server, { host, port, log: options.log }))) continue;
      servers.push(server);
      const address = server.address();
      if (address !== null && typeof address !== "string") port = address.port;
      options.onPort(port);
      addresses.push(`http://${host.includes(":") ? `[${host}]` : host}:${port}`);
    }
    if (servers.length > 0) return { port, addresses, servers };
    throw new PosternError(
      "address_not_available",
      `Cannot listen on ${options.hosts.join(", ")}: not an address of this machine. Change --host.`,
    );
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
}

/** @returns false if the machine has no `::1`, because IPv6 is off */
async function listen(
  server: Server,
  at: { readonly host: string; readonly port: number; readonly log: Log },
): Promise<boolean> {
  const { host, port, log } = at;
  server.listen({ host, port, backlog });
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if (isErrno(error, "EADDRNOTAVAIL", "EAFNOSUPPORT") && host === "::1") {
      log.info({ host }, "address not available; not listening on it");
      return false;
    }
    if (isErrno(error, "EADDRINUSE")) throw portTaken({ host, port }, error);
    const message = `Cannot listen on ${host}, port ${port}.`;
    throw new PosternError("address_not_available", message, { cause: error });
  }
}

async function listenOnSocket(path: string, options: ListenOptions): Promise<Server> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await removeStaleSocket(path);
  const server = newServer(options);
  server.maxConnections = maxOwnerConnections;
  server.on("connection", options.onOwnerConnection);
  server.listen(path);
  try {
    await once(server, "listening");
    await chmod(path, 0o600); // until then, its folder (0700) protects it
  } catch (error) {
    server.close();
    throw new PosternError("address_not_available", `Cannot listen on ${path}.`, { cause: error });
  }
  return server;
}

/** @throws PosternError `gateway_running` if a gateway responds on it, `address_in_use` if it is not a socket */
async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) {
      throw new PosternError(
        "address_in_use",
        `Cannot listen on ${path}: the file exists and is not a socket. Remove it.`,
      );
    }
    if (await answers(path)) {
      throw new PosternError(
        "gateway_running",
        `Another gateway with this state folder is already running on ${path}.`,
      );
    }
    await unlink(path);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error; // does not exist
  }
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    if (isErrno(error, "ECONNREFUSED", "ENOENT")) return false; // its process has exited
    throw error;
  } finally {
    socket.destroy();
  }
}
