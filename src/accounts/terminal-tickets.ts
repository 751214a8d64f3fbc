import { type Clock, isoTime } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { newSecret, sha256 } from "../core/ids.ts";
import type { TerminalMode, TerminalTicket } from "../wire/terminal.ts";
import { type Principal, requireScope } from "./principal.ts";

/** Long enough for a slow phone to open a connection, too short to be found in a log and used. */
const ticketLifeMs = 30_000;
/** Unused tickets of one caller; the oldest goes. Ours: a page asks for one for each terminal that it connects. */
const maxTicketsOfCaller = 32;
/** Unused tickets of all callers; the oldest goes. */
const maxTickets = 4_096;

/** What a ticket stands for. */
export interface RedeemedTicket {
  readonly principal: Principal;
  readonly sessionId: string;
  readonly mode: TerminalMode;
  /**
   * The caller looked up again: for as long as the connection is open.
   * @throws PosternError `unauthenticated` when the token or browser session that asked for the ticket is revoked or expired
   */
  refresh(): Promise<Principal>;
}

/**
 * Tickets for clients that cannot send a header with their WebSocket: single use, good for 30 seconds, bound to one session and mode.
 * They live in this process alone, as hashes; a restart loses them.
 */
export interface TerminalTickets {
  /**
   * Without `mode`: drive if the caller may, else observe.
   * @throws PosternError `insufficient_scope` when the caller may not look, or may not drive and asked to
   */
  create(
    principal: Principal,
    wanted: { readonly sessionId: string; readonly mode?: TerminalMode | undefined },
  ): TerminalTicket;
  /** Uses the ticket up. @returns null when it is unknown, used or expired, or its caller would not be let in any more */
  redeem(ticket: string): Promise<RedeemedTicket | null>;
}

interface OpenTicket extends Pick<RedeemedTicket, "principal" | "sessionId" | "mode"> {
  readonly expiresAt: number;
}

/** @param deps `refresh` looks a caller up again, and throws `unauthenticated` when it is gone */
export function createTerminalTickets(deps: {
  readonly clock: Clock;
  readonly refresh: (principal: Principal) => Promise<Principal>;
}): TerminalTickets {
  const { clock, refresh } = deps;
  /** By the ticket's hash, oldest first: all live equally long. */
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
      open.delete(hash); // before anything is awaited: two connections with one ticket are one too many
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
