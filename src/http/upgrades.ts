import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { RawData, WebSocket, WebSocketServer } from "ws";
import type { Accounts, Principal } from "../accounts/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { type ServerFrame, type TerminalMode, terminalCloseCodes, terminalProtocol } from "../wire/terminal.ts";
import type { Hold, Holds } from "./holds.ts";
import { endWith } from "./listeners.ts";
import { toProblem } from "./problem-response.ts";

/** An authenticated WebSocket. It closes when its caller loses the credentials, a scope or a folder. */
export interface OpenedSocket {
  readonly ws: Pick<WebSocket, "send" | "close" | "protocol" | "readyState" | "OPEN" | "bufferedAmount">;
  /** The underlying connection, which emits `drain` when everything was sent. */
  readonly connection: Duplex;
  readonly query: URLSearchParams;
  readonly principal: Principal;
  /** The session and mode that the ticket allows; null without a ticket. */
  readonly ticket: { readonly sessionId: string; readonly mode: TerminalMode } | null;
  /** Receives messages while the caller has access. */
  onMessage(listener: (data: RawData, isBinary: boolean) => void): void;
  /** Calls `listener` once, when access is lost or the socket closes. Later messages are ignored. */
  onEnd(listener: () => void): void;
}

export type UpgradeHandler = (opened: OpenedSocket) => void;

/** WebSockets on the HTTP server's connections. */
export interface Upgrades {
  /** @param path without a query */
  on(path: string, handler: UpgradeHandler): void;
  paths(): readonly string[];
  /** Handles an upgrade request. */
  handle(request: IncomingMessage, connection: Duplex, head: Buffer): void;
  /** Closes every socket with the restart code. Resolves when all are closed. */
  close(): Promise<void>;
}

export interface UpgradesDeps {
  readonly accounts: Pick<Accounts, "authenticate" | "tickets">;
  readonly holds: Pick<Holds, "open">;
  readonly clock: Clock;
  readonly log: Log;
  readonly auth: "on" | "none";
  /** Rejects foreign host names and pages. @throws PosternError `origin_not_allowed` */
  readonly checkPlace: (request: IncomingMessage) => void;
  readonly isOwnerSocket: (request: IncomingMessage) => boolean;
  readonly onAuthenticated: (request: IncomingMessage, principal: Principal) => void;
}

/** Maximum frame from a client: the terminal host accepts 4 MiB of input, and JSON needs a little more. */
const maxPayloadBytes = 4 * 1024 * 1024 + 64 * 1024;
/** Authentication takes milliseconds. This limit closes connections that wait for a hanging database. */
const admissionMs = 10_000;
const pingMs = 20_000;
/** The peer counts as dead after two unanswered pings. */
const silenceMs = 2 * pingMs;
const stopGraceMs = 1_000;
const aliveFrame = JSON.stringify({ kind: "alive" } satisfies ServerFrame);

interface Admission {
  readonly principal: Principal;
  readonly ticket: { readonly sessionId: string; readonly mode: TerminalMode } | null;
}

export function createUpgrades(deps: UpgradesDeps): Upgrades {
  const { accounts, clock, log } = deps;
  const handlers = new Map<string, UpgradeHandler>();
  const sockets = new Set<WebSocket>();
  let closing = false;
  let loading: Promise<WebSocketServer> | undefined;

  async function admit(request: IncomingMessage, ticket: string | null): Promise<Admission> {
    const { authorization } = request.headers;
    if (authorization === undefined && ticket !== null) {
      const redeemed = await accounts.tickets.redeem(ticket);
      if (redeemed !== null) return { principal: redeemed.principal, ticket: redeemed };
      throw new PosternError("unauthenticated", "The ticket is unknown, used or expired. Request a new one.");
    }
    // Cookies are not accepted: other ports of the host share them.
    const isOwner = deps.isOwnerSocket(request) && authorization === undefined;
    const kind = isOwner ? "socket" : deps.auth === "none" ? "open" : "header";
    const principal = await accounts.authenticate(kind === "header" ? { kind, authorization } : { kind });
    return { principal, ticket: null };
  }

  async function open(request: IncomingMessage, { connection, head }: { connection: Duplex; head: Buffer }) {
    if (closing) throw new PosternError("gateway_stopping", "The gateway is stopping.");
    deps.checkPlace(request);
    const url = new URL(request.url ?? "/", "http://localhost");
    const handler = handlers.get(url.pathname);
    if (handler === undefined) throw new PosternError("route_not_found", "This path does not support WebSockets.");
    const cancel = clock.after(admissionMs, () => connection.destroy());
    const [server, admission] = await Promise.all([
      (loading ??= loadServer()),
      admit(request, url.searchParams.get("ticket")).catch((error: unknown) => refused(error)),
    ]).finally(cancel);
    server.handleUpgrade(request, connection, head, (ws) => {
      follow(ws, url.pathname);
      if (closing) return ws.terminate();
      if ("closeCode" in admission) return closeSoon(ws, admission.closeCode, admission.reason);
      deps.onAuthenticated(request, admission.principal);
      const { principal, ...held } = hold(ws, admission.principal);
      handler({ ws, connection, query: url.searchParams, ...admission, principal, ...held });
    });
  }

  function hold(ws: WebSocket, given: Principal): Pick<OpenedSocket, "principal" | "onMessage" | "onEnd"> {
    const held = deps.holds.open(given);
    held.signal.addEventListener("abort", () => {
      if (!held.isLost) return;
      closeSoon(ws, ...closeOf(held.signal.reason));
    });
    ws.once("close", () => held.end(new PosternError("client_gone", "The client disconnected.")));
    return {
      principal: held.principal,
      onMessage: (listener) =>
        ws.on("message", (data, isBinary) => takeWhileHeld(ws, held, () => listener(data, isBinary))),
      onEnd: (listener) => held.signal.addEventListener("abort", () => listener(), { once: true }),
    };
  }

  /** Terminates clients that do not respond to the close. */
  function closeSoon(ws: WebSocket, code: number, reason: string): void {
    ws.close(code, reason);
    ws.once(
      "close",
      clock.after(stopGraceMs, () => ws.terminate()),
    );
  }

  function follow(ws: WebSocket, route: string): void {
    const openedAt = clock.now();
    sockets.add(ws);
    const stopPings = keepAlive(ws, clock);
    ws.on("error", (error) => log.debug({ reason: messageOf(error) }, "a WebSocket failed")); // `close` follows
    ws.once("close", (status) => {
      stopPings();
      sockets.delete(ws);
      log.info({ route, status, durationMs: clock.now() - openedAt }, "websocket");
    });
  }

  return {
    on: (path, handler) => void handlers.set(path, handler),
    paths: () => [...handlers.keys()],
    handle(request, connection, head) {
      connection.on("error", () => connection.destroy()); // the client disconnected
      open(request, { connection, head }).catch((error: unknown) => refuse(connection, error, log));
    },
    async close() {
      closing = true;
      const gone = [...sockets].map((ws) => new Promise((resolve) => ws.once("close", resolve)));
      for (const ws of sockets) ws.close(terminalCloseCodes.restarting, "The gateway is stopping.");
      const cut = setTimeout(() => {
        for (const ws of sockets) ws.terminate();
      }, stopGraceMs);
      await Promise.all(gone);
      clearTimeout(cut);
    },
  };
}

/** Loads the library with the first socket, so that startup is not delayed. */
async function loadServer(): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import("ws");
  return new Server({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false, // doubles the time of an echo
    maxPayload: maxPayloadBytes,
    handleProtocols: (offered) => (offered.has(terminalProtocol) ? terminalProtocol : false),
  });
}

/** Pings a peer and drops it if it neither responds nor reads its data. */
function keepAlive(ws: WebSocket, clock: Clock): () => void {
  let heardAt = clock.now();
  let unsentBefore = 0;
  let cancel = (): void => undefined;
  const heard = (): void => {
    heardAt = clock.now();
  };
  ws.on("pong", heard);
  ws.on("message", heard);
  const next = (): void => {
    cancel = clock.after(pingMs, () => {
      if (ws.bufferedAmount < unsentBefore) heard();
      unsentBefore = ws.bufferedAmount;
      if (clock.now() - heardAt >= silenceMs) return ws.terminate();
      if (ws.readyState === ws.OPEN) {
        ws.ping();
        if (ws.protocol === terminalProtocol) ws.send(aliveFrame, { binary: false });
      }
      next();
    });
  };
  next();
  return () => cancel();
}

/** Pauses the client while its access is checked. */
function takeWhileHeld(ws: WebSocket, held: Hold, take: () => void): void {
  let waits = true;
  held.whenHeld(() => {
    waits = false;
    if (ws.isPaused) ws.resume();
    take();
  });
  if (waits) ws.pause();
}

interface Refused {
  readonly closeCode: number;
  readonly reason: string;
}

/** The close code for an error, because browsers do not show pages the HTTP status of a WebSocket. */
function refused(error: unknown): Refused {
  if (!hasCode(error, "unauthenticated") && !hasCode(error, "insufficient_scope")) throw error;
  const [closeCode, reason] = closeOf(error);
  return { closeCode, reason };
}

function closeOf(error: unknown): [number, string] {
  return hasCode(error, "unauthenticated")
    ? [terminalCloseCodes.notSignedIn, "Not signed in."]
    : [terminalCloseCodes.notAllowed, "Access denied or revoked."];
}

function refuse(connection: Duplex, error: unknown, log: Log): void {
  const requestId = newUuid();
  const { problem, headers } = toProblem(error, requestId);
  if (problem.status >= 500) log.error({ requestId, reason: messageOf(error) }, "a WebSocket upgrade failed");
  if (!connection.writable) return void connection.destroy();
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  endWith(connection, `${head.join("\r\n")}\r\n\r\n${body}`);
}
