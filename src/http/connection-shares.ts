import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isIP } from "node:net";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";

/** The address of callers on the owner's Unix socket. */
export const localAddress = "local";

/**
 * The client's address in its shortest form. IPv4-mapped IPv6 addresses are converted to IPv4.
 * @param request `ips` is set only with trusted proxies: the addresses from the connection's peer to the farthest one that they report
 */
export function clientAddress({ ip, ips }: { readonly ip?: string; readonly ips?: readonly string[] }): string {
  const named = (ips ?? [ip]).map(plainAddress);
  // If a trusted proxy reports no valid address, its own address counts.
  return named.findLast((address) => address !== null) ?? "unknown";
}

/** The unit of rate limits: an IPv4 address, or an IPv6 subscriber's network (RFC 6177: at least 64 bits). */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const before = head.split(":").filter((part) => part !== "");
  const after = tail.split(":").filter((part) => part !== "");
  const missing = address.includes("::") ? 8 - before.length - after.length : 0;
  const parts = [...before, ...Array.from({ length: missing }, () => "0"), ...after];
  return `${parts.slice(0, 4).join(":")}::/64`;
}

/** @returns null for invalid addresses. Drops the port that some proxies add. */
function plainAddress(text: string | undefined = ""): string | null {
  const withoutPort = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const [address = ""] = withoutPort.split("%", 1); // drops the interface of link-local addresses
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : null;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]);
  return bytes.join(".");
}

/**
 * Limits TCP connections fairly: unauthenticated ones by address, authenticated ones by credential, with separate limits. At the limit, a
 * new connection closes the oldest one of the caller with the most connections. A flood therefore closes its own connections, never those of authenticated
 * callers. The owner's Unix socket is not counted.
 */
export interface ConnectionShares {
  /**
   * Called with each new request. More than {@link maxPipelined} unanswered requests close the connection, because each response is kept
   * in memory until the client has read the previous ones.
   * @returns whether to handle the request
   */
  admits(response: ServerResponse): boolean;
  /** Counts a new connection as unauthenticated until a request on it authenticates. */
  opened(socket: Socket): void;
  /**
   * Called with a request that is not authenticated yet. Its body must arrive within {@link bodyDeadlineMs}.
   * @param address of the client, which differs from the connection's behind a trusted proxy
   */
  arrived(response: ServerResponse, address: string): void;
  /** @param caller identifies the credential */
  authenticated(request: IncomingMessage, caller: string): void;
}

/** Maximum unauthenticated connections. */
export const maxStrangers = 1_024;
/** Maximum authenticated connections, including WebSockets and event streams. */
export const maxCallers = 1_024;
/** Maximum running requests per connection. Browsers and client libraries send one at a time. */
export const maxPipelined = 4;
/** Unauthenticated bodies, such as forms and tokens, are small. */
export const bodyDeadlineMs = 10_000;
/** Logs a flood at most this often. */
const reportEveryMs = 60_000;

/** @param deps `onLate` closes a connection whose request took too long */
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
    log.warn({ closed, share }, "too many connections: closed the oldest one of the largest share");
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
      if (socket.destroyed) return false; // a previous request of the same packet closed the connection
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
      // An authenticated connection stays with its caller, except behind a proxy, which can use one connection for several callers.
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
  /** Adds the socket as the newest of the share. */
  hold(socket: Socket, share: string): void;
  release(socket: Socket): void;
}

function createShares(max: number, close: (socket: Socket, share: string) => void): Shares {
  /** Oldest first. */
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
      if (socket.destroyed) return; // its `close` event may have fired already
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
