import { type ServerFrame, serverFrameSchema, type TerminalMode, terminalCloseCodes } from "../../src/wire/terminal.ts";
import type { TerminalSize } from "./terminal-feed.ts";

/** `sizer`: the terminal has this viewer's size. */
export interface Viewers {
  readonly drivers: number;
  readonly observers: number;
  readonly sizer: boolean;
}

export type StopReason =
  | "not_signed_in"
  | "not_allowed"
  | "no_such_session"
  | "busy_elsewhere"
  | "bad_request"
  | "closed";

/** `ended` and `stopped` are final. */
export type ConnectionState =
  | { readonly kind: "connecting"; readonly again: boolean }
  | { readonly kind: "live"; readonly mode: TerminalMode; readonly viewers: Viewers | null }
  | { readonly kind: "waiting"; readonly reason: string; readonly retryAt: number }
  | { readonly kind: "ended"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "stopped"; readonly why: StopReason; readonly reason: string };

/** `retry` is for temporary failures: no network, a restarting gateway. */
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

/** Why not to reconnect after this close code; null to reconnect. For 1000, see the exit frame. */
export function stopOfClose(code: number): StopReason | null {
  return stops[code] ?? (code >= 4400 && code < 4500 ? "closed" : null);
}

/** A description of why the connection was lost, while it is being retried. */
export function reasonOfClose(code: number, reason: string): string {
  if (code === terminalCloseCodes.restarting) return "The gateway is restarting.";
  if (code === terminalCloseCodes.tooMany) return reason === "" ? "Too many viewers are connected." : reason;
  return "The connection was lost.";
}

/** Characters of input in one frame. */
const inputFrameLength = 16 * 1024;

/** Null for a frame of a later version. */
export function parseServerFrame(text: string): ServerFrame | null {
  try {
    return serverFrameSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // not JSON: not a message of this protocol
  }
}

/** Splits input into frames, never within a surrogate pair. */
export function inputParts(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + inputFrameLength);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

/** The viewer's position in the output. Without an offset it needs a screen. */
export interface Position {
  readonly terminalId: string;
  readonly offset: number | null;
}

export function connectionQuery(viewer: {
  readonly sessionId: string;
  readonly ticket: string;
  readonly mode: TerminalMode | undefined;
  readonly size: TerminalSize | null;
  readonly position: Position | null;
}): string {
  const { sessionId, ticket, mode, size, position } = viewer;
  const query = new URLSearchParams({ session_id: sessionId, ticket });
  if (mode !== undefined) query.set("mode", mode);
  if (size !== null) {
    query.set("cols", String(size.cols));
    query.set("rows", String(size.rows));
  }
  if (position !== null) {
    query.set("terminal", position.terminalId); // marks a reconnection: it does not start an agent that has ended
    if (position.offset !== null) query.set("from", String(position.offset));
  }
  return query.toString();
}

/** A shorter connection is no success: keep backing off from a gateway that accepts and drops it. */
const stableMs = 3_000;

/** Exponential backoff with jitter between half and all of the delay, so that pages do not reconnect at once. */
export function createBackoff({ firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number }) {
  let failures = 0;
  let succeededAt: number | null = null;
  return {
    /** The next delay, in milliseconds. `patiently` starts at half of the longest. */
    next(patiently = false): number {
      if (succeededAt !== null && Date.now() - succeededAt >= stableMs) failures = 0;
      succeededAt = null;
      const pauseMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
      failures += 1;
      const leastMs = patiently ? Math.max(pauseMs, longestMs / 2) : pauseMs;
      return Math.round(leastMs * (0.5 + Math.random() / 2));
    },
    /** Failures in a row. */
    failures: (): number => failures,
    /** Resets the backoff, unless the connection fails within {@link stableMs}. */
    succeeded(): void {
      succeededAt = Date.now();
    },
  };
}
