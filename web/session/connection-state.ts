import { type TerminalMode, terminalCloseCodes } from "../../src/wire/terminal.ts";

/** Who looks on, and whether the terminal has this viewer's size. */
export interface Viewers {
  readonly drivers: number;
  readonly observers: number;
  readonly sizer: boolean;
}

/** Why a connection is given up. */
export type StopReason =
  | "not_signed_in"
  | "not_allowed"
  | "no_such_session"
  | "busy_elsewhere"
  | "bad_request"
  | "closed";

/** How a connection stands. After `ended` and `stopped` nothing connects by itself any more. */
export type ConnectionState =
  | { readonly kind: "connecting"; readonly again: boolean }
  | { readonly kind: "live"; readonly mode: TerminalMode; readonly viewers: Viewers | null }
  | { readonly kind: "waiting"; readonly reason: string; readonly retryAt: number }
  | { readonly kind: "ended"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "stopped"; readonly why: StopReason; readonly reason: string };

/** What asking for a ticket came to. `retry` is for what passes by itself: no network, a gateway that restarts. */
export type TicketAnswer =
  | { readonly kind: "ticket"; readonly ticket: string }
  | { readonly kind: "retry"; readonly reason: string }
  | { readonly kind: "stop"; readonly why: StopReason; readonly reason: string };

const stops: Readonly<Record<number, StopReason>> = {
  [terminalCloseCodes.badRequest]: "bad_request",
  [terminalCloseCodes.notSignedIn]: "not_signed_in",
  [terminalCloseCodes.notAllowed]: "not_allowed",
  [terminalCloseCodes.noSuchSession]: "no_such_session",
  [terminalCloseCodes.busyElsewhere]: "busy_elsewhere",
};

/** Why nobody should connect again after this close; null when it passes. Of 1000, see the exit frame. */
export function stopOfClose(code: number): StopReason | null {
  return stops[code] ?? (code >= 4400 && code < 4500 ? "closed" : null);
}

/** In words, why a connection that will be tried again was lost. */
export function reasonOfClose(code: number, reason: string): string {
  if (code === terminalCloseCodes.restarting) return "The gateway is restarting.";
  if (code === terminalCloseCodes.tooMany) return reason === "" ? "Too many viewers are connected." : reason;
  return "The connection was lost.";
}
