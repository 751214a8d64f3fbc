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

/** An authenticated WebSocket. It closes when its caller loses the right to it: its credentials, a scope, or a folder. */
export interface OpenedSocket {
  readonly ws: Pick<WebSocket, "send" | "close" | "protocol" | "readyState" | "OPEN" | "bufferedAmount">;
  /** The connection beneath it, which emits `drain` when it has sent all. */
  readonly connection: Duplex;
  readonly query: URLSearchParams;
  readonly principal: Principal;
  /** What the caller's ticket is good for, and nothing else; null without a ticket. */
  readonly ticket: { readonly sessionId: string; readonly mode: TerminalMode } | null;
  /** Takes what the client sends, while the caller has the right to the socket. */
  onMessage(listener: (data: RawData, isBinary: boolean) => void): void;
  /** Calls `listener` once, when the right is lost or the socket is closed. Nothing that the client sends is taken from then on. */
  onEnd(listener: () => void): void;
}

/** Takes WebSockets of one path. */
export type UpgradeHandler = (opened: OpenedSocket) => void;

/** WebSockets on the HTTP server's connections. */
export interface Upgrades {
  /** @param path without a query */
  on(path: string, handler: UpgradeHandler): void;
  paths(): readonly string[];
  /** A request for an upgrade. `ownOrigin` throws when the request names no host of ours. */
  handle(request: IncomingMessage, connection: Duplex, head: Buffer): void;
  /** Closes every socket with the code for a restart. Resolves when all are closed. */
  close(): Promise<void>;
}

export interface UpgradesDeps {
  readonly accounts: Pick<Accounts, "authenticate" | "tickets">;
  readonly holds: Pick<Holds, "open">;
  readonly clock: Clock;
  readonly log: Log;
  readonly auth: "on" | "none";
  /** Refuses foreign names and pages. @throws PosternError `origin_not_allowed` */
  readonly checkPlace: (request: IncomingMessage) => void;
  readonly isOwnerSocket: (request: IncomingMessage) => boolean;
  readonly onAuthenticated: (request: IncomingMessage, principal: Principal) => void;
}

/** What a frame from a client may have: the host takes 4 MiB of input at once, and JSON needs some more. */
const maxPayloadBytes = 4 * 1024 * 1024 + 64 * 1024;
/** Looking up a caller takes milliseconds; a store that hangs keeps no connections. */
const admissionMs = 10_000;
const pingMs = 20_000;
/** Two pings without a sign of life, and the peer is taken for dead at the third. */
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
      throw new PosternError("unauthenticated", "The ticket is unknown, used or expired. Get another one.");
    }
    // A cookie is none of these: other ports of the host share it.
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
    if (handler === undefined) throw new PosternError("route_not_found", "There is no WebSocket here.");
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
    ws.once("close", () => held.end(new PosternError("client_gone", "The client went away.")));
    return {
      principal: held.principal,
      onMessage: (listener) =>
        ws.on("message", (data, isBinary) => takeWhileHeld(ws, held, () => listener(data, isBinary))),
      onEnd: (listener) => held.signal.addEventListener("abort", () => listener(), { once: true }),
    };
  }

  /** A client that does not answer the close is cut off. */
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
      connection.on("error", () => connection.destroy()); // the client is gone
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

/** Loaded with the first socket: a start need not wait for it. */
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

/** Pings a peer, and drops one that gives no sign of life: no answer, and nothing taken of what waits for it. */
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

/** A client that sends while its right is checked waits. */
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

/** A browser shows its page no HTTP status of a WebSocket, only how it was closed. */
function refused(error: unknown): Refused {
  if (!hasCode(error, "unauthenticated") && !hasCode(error, "insufficient_scope")) throw error;
  const [closeCode, reason] = closeOf(error);
  return { closeCode, reason };
}

function closeOf(error: unknown): [number, string] {
  return hasCode(error, "unauthenticated")
    ? [terminalCloseCodes.notSignedIn, "Not signed in, or no longer."]
    : [terminalCloseCodes.notAllowed, "The caller may not do this, or no longer."];
}

function refuse(connection: Duplex, error: unknown, log: Log): void {
  const requestId = newUuid();
  const { problem, headers } = toProblem(error, requestId);
  if (problem.status >= 500) log.error({ requestId, reason: messageOf(error) }, "an upgrade failed");
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
