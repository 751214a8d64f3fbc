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

// An `import` of node:http would read every export, also the lazy ones, and load a whole HTTP client: 65 ms of each start.
const { createServer } = process.getBuiltinModule("node:http");

/** Open connections of the owner's socket, whose programs are the owner's own; the next ones are turned away. */
const maxOwnerConnections = 1_024;
/** A request, body included, that takes longer to arrive is dropped. Answers may take their time. */
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
/** Connections that wait to be accepted. Node's own 511 are soon full in a flood, and then a caller's waits a second and more. */
const backlog = 4_096;
/** How often these are checked; Node's own 30 s would be their real length. */
const timeoutCheckMs = 1_000;
const requestTimeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/** How often another port is tried when any port will do and it is taken on one of the addresses. */
const portAttempts = 10;

/** What answers on every address. */
export interface Listening {
  readonly port: number;
  /** `http://…` of each address. */
  readonly addresses: readonly string[];
  readonly servers: readonly Server[];
  /** Makes the owner's socket no more when it is removed. Call it before the servers are closed. */
  stopWatching(): Promise<void>;
}

/** Where to listen. */
export interface ListenOptions {
  readonly hosts: readonly string[];
  /** 0 takes any free port. */
  readonly port: number;
  /** The owner's Unix socket; null has none. */
  readonly socketPath: string | null;
  readonly onRequest: RequestListener;
  readonly onUpgrade: (request: IncomingMessage, connection: Duplex, head: Buffer) => void;
  /** Called with each connection of the Unix socket before its first request. */
  readonly onOwnerConnection: (socket: Socket) => void;
  /** Called with each connection over TCP before its first request; closes what is too much. */
  readonly onConnection: (socket: Socket) => void;
  /** Called with the port before the first request can arrive. */
  readonly onPort: (port: number) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws PosternError `address_in_use` | `address_not_available` | `gateway_running` */
export async function openListeners(options: ListenOptions): Promise<Listening> {
  const { socketPath } = options;
  const servers: Server[] = [];
  try {
    // The socket first: its error names another gateway of the same home.
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
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    keepAliveTimeout: 10_000,
  };
  const server = createServer({ ...timeouts, shouldUpgradeCallback: isWebSocket }, onRequest);
  server.on("upgrade", onUpgrade);
  server.on("clientError", answerBrokenRequest);
  return server;
}

/** A client that offers another protocol, as curl does with `h2c`, is answered in this one (RFC 9110 section 7.8). */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * What is no HTTP at all never reaches a route.
 *
 * Browsers open connections before they need them. One on which nothing came in time ends without a word: an answer could be taken for
 * that of the request which is just being sent on it. Half a request gets a 408, after which clients send it again (RFC 9110 section 15.5.9).
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
    detail: tooLarge ? "The request's headers are too large." : "This is not a valid HTTP request.",
  });
  const head = [`HTTP/1.1 ${status}`, "Content-Type: application/problem+json", `Content-Length: ${body.length}`];
  endWith(socket, `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${body}`);
}

/** Ends the connection of a request whose body did not arrive in time. */
export function endLate({ req: { socket }, headersSent }: ServerResponse): void {
  if (headersSent) socket.destroy();
  else endWith(socket, requestTimeout);
}

/** Sends the last of a connection and closes it. Only ended, it would stay open until the client closes it too. */
export function endWith(socket: Duplex, text: string): void {
  socket.end(text, () => socket.destroy());
}

/** The first of `servers` listens on the socket. One that is replaced answers what is under way on it. */
function watchOwnerSocket(path: string, servers: Server[], options: ListenOptions): () => Promise<void> {
  return watchSocket(path, {
    ...options,
    async listen() {
      servers[0]?.close(); // now: it would remove the new socket, which has the same path
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
      `None of ${options.hosts.join(", ")} is an address of this machine.`,
    );
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
}

/** @returns false when the machine has no such loopback address, as one without IPv6 has no `::1` */
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
      log.info({ host }, "this machine has no such address; not listening on it");
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
    await chmod(path, 0o600); // its folder, 0700, keeps others out until then
  } catch (error) {
    server.close();
    throw new PosternError("address_not_available", `Cannot listen on ${path}.`, { cause: error });
  }
  return server;
}

/** @throws PosternError `gateway_running` when a gateway answers on it, `address_in_use` when it is no socket */
async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) {
      throw new PosternError("address_in_use", `${path} is in the way and is no socket. Remove it.`);
    }
    if (await answers(path)) {
      throw new PosternError("gateway_running", `Another gateway of this home is running; it answers on ${path}.`);
    }
    await unlink(path);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error; // nothing there: nothing to remove
  }
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    if (isErrno(error, "ECONNREFUSED", "ENOENT")) return false; // its process is gone
    throw error;
  } finally {
    socket.destroy();
  }
}
