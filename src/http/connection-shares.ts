import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isIP } from "node:net";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";

/** What stands for the owner's Unix socket, whose callers have no address. */
export const localAddress = "local";

/**
 * The address that a request came from, in its shortest form; an IPv4 address that came as an IPv6 one is IPv4 again.
 *
 * @param request `ips` is there with trusted proxies only: from the connection's peer to the farthest that a trusted one named
 */
export function clientAddress({ ip, ips }: { readonly ip?: string; readonly ips?: readonly string[] }): string {
  const named = (ips ?? [ip]).map(plainAddress);
  // What a trusted proxy passed on may be no address at all: then the proxy is the last one known.
  return named.findLast((address) => address !== null) ?? "unknown";
}

/** What shares a limit: an IPv4 address, and of IPv6 the network that one subscriber has (RFC 6177: 64 bits at least). */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const before = head.split(":").filter((part) => part !== "");
  const after = tail.split(":").filter((part) => part !== "");
  const missing = address.includes("::") ? 8 - before.length - after.length : 0;
  const parts = [...before, ...Array.from({ length: missing }, () => "0"), ...after];
  return `${parts.slice(0, 4).join(":")}::/64`;
}

/** @returns null for what is no address; some proxies add a port, which is dropped */
function plainAddress(text: string | undefined = ""): string | null {
  const withoutPort = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const [address = ""] = withoutPort.split("%", 1); // an interface, as link-local addresses have it
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : null;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]);
  return bytes.join(".");
}

/**
 * Connections over TCP, shared fairly: strangers by address, authenticated callers by credential, each kind with its own room. When
 * one is full, a new connection closes the oldest of the largest share. A flood therefore closes its own connections, never those
 * of a caller who authenticated. The owner's Unix socket is not counted here.
 */
export interface ConnectionShares {
  /**
   * A request, before anything is done for it. More than {@link maxPipelined} that wait for their answers on one connection close it:
   * each answer is kept in memory until the client reads those before it.
   * @returns whether it is to be answered
   */
  admits(response: ServerResponse): boolean;
  /** Counts a new connection as a stranger's, until a request on it authenticates. */
  opened(socket: Socket): void;
  /**
   * A request whose caller is not authenticated, or not yet: its body has to arrive within {@link bodyDeadlineMs}.
   * @param address the client's, which is not the connection's behind a trusted proxy
   */
  arrived(response: ServerResponse, address: string): void;
  /** The request's caller is authenticated. @param caller names the credential */
  authenticated(request: IncomingMessage, caller: string): void;
}

/** Connections without an authenticated caller. */
export const maxStrangers = 1_024;
/** Connections of authenticated callers, their WebSockets and event streams included. */
export const maxCallers = 1_024;
/** Requests of one connection under way. Browsers and client libraries send one at a time. */
export const maxPipelined = 4;
/** Forms and tokens are small. An authenticated caller's body may take as long as any request. */
export const bodyDeadlineMs = 10_000;
/** A flood writes one line in this time. */
const reportEveryMs = 60_000;

/** @param deps `onLate` ends a connection whose request took too long */
export function createConnectionShares(deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly onLate: (response: ServerResponse) => void;
}): ConnectionShares {
  const { clock, log, onLate } = deps;
  let closed = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const close = (socket: Socket, share: string): void => {
    socket.destroy();
    closed += 1;
    if (clock.now() - reportedAt < reportEveryMs) return;
    log.warn({ closed, share }, "too many connections: closed the oldest of the largest share");
    reportedAt = clock.now();
    closed = 0;
  };
  const strangers = createShares(maxStrangers, close);
  const callers = createShares(maxCallers, close);
  const deadlines = new WeakMap<IncomingMessage, () => void>();
  const underWay = new WeakMap<Socket, number>();

  return {
    admits(response) {
      const { socket } = response.req;
      if (socket.destroyed) return false; // the others of a burst, which arrived in one piece
      const count = (underWay.get(socket) ?? 0) + 1;
      if (count > maxPipelined) {
        socket.destroy();
        return false;
      }
      underWay.set(socket, count);
      response.once("close", () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
      return true;
    },
    opened(socket) {
      strangers.hold(socket, shareOf(socket));
      socket.once("close", () => {
        strangers.release(socket);
        callers.release(socket);
      });
    },
    arrived(response, address) {
      const { req: request } = response;
      const { socket } = request;
      const share = addressGroup(address);
      // A caller's own connection stays theirs; a proxy uses one for many clients.
      const changesHands = callers.has(socket) && share !== shareOf(socket);
      if (changesHands) callers.release(socket);
      if (changesHands || strangers.has(socket)) strangers.hold(socket, share);
      if (!strangers.has(socket) || !hasBody(request)) return;
      const cancel = clock.after(bodyDeadlineMs, () => {
        if (!request.complete) onLate(response);
      });
      deadlines.set(request, cancel);
      request.once("close", cancel);
    },
    authenticated(request, caller) {
      const { socket } = request;
      deadlines.get(request)?.();
      if (!strangers.has(socket) && !callers.has(socket)) return;
      strangers.release(socket);
      callers.hold(socket, caller);
    },
  };
}

interface Shares {
  has(socket: Socket): boolean;
  /** As the newest of this share. */
  hold(socket: Socket, share: string): void;
  release(socket: Socket): void;
}

function createShares(max: number, close: (socket: Socket, share: string) => void): Shares {
  /** The oldest first. */
  const held = new Map<Socket, string>();
  const sizes = new Map<string, number>();

  function release(socket: Socket): void {
    const share = held.get(socket);
    if (share === undefined) return;
    held.delete(socket);
    const left = (sizes.get(share) ?? 1) - 1;
    if (left === 0) sizes.delete(share);
    else sizes.set(share, left);
  }

  return {
    has: (socket) => held.has(socket),
    release,
    hold(socket, share) {
      if (socket.destroyed) return; // its `close` may be over
      release(socket);
      held.set(socket, share);
      sizes.set(share, (sizes.get(share) ?? 0) + 1);
      if (held.size <= max) return;
      const largest = Math.max(...sizes.values());
      for (const [oldest, of] of held) {
        if (sizes.get(of) !== largest) continue;
        release(oldest);
        close(oldest, of);
        return;
      }
    },
  };
}

function shareOf({ remoteAddress = "" }: Socket): string {
  return addressGroup(clientAddress({ ip: remoteAddress }));
}

/** @see RFC 9112 section 6 */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
