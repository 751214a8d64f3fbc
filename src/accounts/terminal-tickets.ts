import { type Clock, isoTime } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { newSecret, sha256 } from "../core/ids.ts";
import type { TerminalMode, TerminalTicket } from "../wire/terminal.ts";
import { type Principal, requireScope } from "./principal.ts";

/** Enough time for a slow phone to connect, but too short to find the ticket in a log and use it. */
const ticketLifeMs = 30_000;
/** Maximum unused tickets of one caller; the oldest is dropped. Our own limit: a page requests one for each terminal it opens. */
const maxTicketsOfCaller = 32;
/** Maximum unused tickets of all callers; the oldest is dropped. */
const maxTickets = 4_096;

/** The connection that a ticket opens. */
export interface RedeemedTicket {
  readonly principal: Principal;
  readonly sessionId: string;
  readonly mode: TerminalMode;
  /**
   * Looks up the caller again, for as long as the connection is open.
   * @throws PosternError `unauthenticated` when the token or browser session that requested the ticket is revoked or expired
   */
  refresh(): Promise<Principal>;
}

/**
 * Tickets for clients that cannot send a header with a WebSocket: single use, valid for 30 seconds, and bound to one session and mode.
 * Only their hashes are kept, in this process's memory, so a restart invalidates them.
 */
export interface TerminalTickets {
  /**
   * Without `mode`: drive if the caller can, otherwise observe.
   * @throws PosternError `insufficient_scope` when the caller cannot observe, or asks to drive but cannot
   */
  create(
    principal: Principal,
    wanted: { readonly sessionId: string; readonly mode?: TerminalMode | undefined },
  ): TerminalTicket;
  /** Consumes the ticket. @returns null when it is unknown, used or expired, or its caller no longer authenticates */
  redeem(ticket: string): Promise<RedeemedTicket | null>;
}

interface OpenTicket extends Pick<RedeemedTicket, "principal" | "sessionId" | "mode"> {
  readonly expiresAt: number;
}

/** @param deps `refresh` looks up a caller again, and throws `unauthenticated` when it is no longer valid */
export function createTerminalTickets(deps: {
  readonly clock: Clock;
  readonly refresh: (principal: Principal) => Promise<Principal>;
}): TerminalTickets {
  const { clock, refresh } = deps;
  /** By the ticket's hash, oldest first: all have the same lifetime. */
  const open = new Map<string, OpenTicket>();

  function makeRoom(caller: string): void {
    const now = clock.now();
    for (const [hash, { expiresAt }] of open) if (expiresAt <= now) open.delete(hash);
    const ofCaller = [...open].filter(([, { principal }]) => callerOf(principal) === caller);
    const [oldestOfCaller] = ofCaller.length >= maxTicketsOfCaller ? ofCaller : open.size >= maxTickets ? open : [];
    if (oldestOfCaller !== undefined) open.delete(oldestOfCaller[0]);
  }

  return {
    create(principal, { sessionId, mode: wanted }) {
      const mode = wanted ?? (principal.scopes.has("coding:drive") ? "drive" : "observe");
      checkMode(principal, mode);
      makeRoom(callerOf(principal));
      const ticket = newSecret();
      const expiresAt = clock.now() + ticketLifeMs;
      open.set(sha256(ticket), { principal, sessionId, mode, expiresAt });
      return { ticket, mode, expiresAt: isoTime(expiresAt) };
    },

    async redeem(ticket) {
      const hash = sha256(ticket);
      const found = open.get(hash);
      open.delete(hash); // before the first await, so that two connections cannot use the same ticket
      if (found === undefined || found.expiresAt <= clock.now()) return null;
      const { sessionId, mode } = found;
      try {
        const principal = await refresh(found.principal);
        checkMode(principal, mode);
        return { principal, sessionId, mode, refresh: () => refresh(principal) };
      } catch (error) {
        if (hasCode(error, "unauthenticated") || hasCode(error, "insufficient_scope")) return null;
        throw error;
      }
    },
  };
}

function checkMode(principal: Principal, mode: TerminalMode): void {
  requireScope(principal, "coding:read");
  if (mode === "drive") requireScope(principal, "coding:drive");
}

function callerOf({ kind, accountId, tokenId, browserSessionId }: Principal): string {
  return [kind, accountId, tokenId ?? browserSessionId ?? ""].join(" ");
}
