import type { TerminalSize } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { TerminalCloseCode, TerminalMode } from "../wire/terminal.ts";

/** A viewer's connection. Sending never waits; unsent bytes are counted. */
export interface ViewerLink {
  sendText(text: string | Uint8Array): void;
  sendBinary(data: Uint8Array): void;
  /** Bytes that are still in this process. */
  unsentBytes(): number;
  close(code: TerminalCloseCode, reason: string): void;
}

export interface ViewRequest {
  readonly sessionId: string;
  /** If undefined, the viewer drives if the caller has `coding:drive`, and otherwise observes. */
  readonly mode: TerminalMode | undefined;
  readonly size: { readonly cols: number; readonly rows: number } | undefined;
  /** `plain` uses text frames; `v1` is the subprotocol defined in `wire/terminal`. */
  readonly protocol: "plain" | "v1";
  /** How far a reconnecting viewer had read; without an offset, it receives the screen. It does not restart an ended agent. */
  readonly continueAt: { readonly terminalId: string; readonly offset: number | undefined } | undefined;
  /** While this driver is connected, permission requests appear in the terminal and not through the gateway. */
  readonly permissionsInTerminal: boolean;
}

/** One viewer. Input that comes before the terminal is ready is kept, within bounds. */
export interface Viewer {
  receive(data: Buffer, isBinary: boolean): void;
  /** Its connection has sent everything. */
  drained(): void;
  /** Its connection is closed. Idempotent. */
  leave(): void;
}

/** Attaches a viewer to the live terminal of a session. An error closes the link. */
export type ViewTerminal = (request: ViewRequest, caller: Caller, link: ViewerLink) => Viewer;

interface ViewerState {
  readonly id: number;
  readonly mode: TerminalMode;
  /** Null until it is known. */
  readonly size: TerminalSize | null;
  /** When it last typed or resized, as a position in the order of all such events; 0 for never. */
  readonly actedAt: number;
}

/** All viewers of one terminal, in the order in which they attached. */
export type ViewerStates = readonly ViewerState[];

export type ViewerEvent =
  | { readonly kind: "came"; readonly id: number; readonly mode: TerminalMode; readonly size: TerminalSize | null }
  | { readonly kind: "typed"; readonly id: number }
  | { readonly kind: "resized"; readonly id: number; readonly size: TerminalSize }
  | { readonly kind: "left"; readonly id: number };

/**
 * The viewers after `event`. A new driver counts as active only if it is the only one: a second window or a phone changes nothing until it
 * types or is resized. Observers never count.
 */
export function nextViewerStates(all: ViewerStates, event: ViewerEvent): ViewerStates {
  if (event.kind === "left") return all.filter(({ id }) => id !== event.id);
  const now = Math.max(0, ...all.map(({ actedAt }) => actedAt)) + 1;
  if (event.kind === "came") {
    const { id, mode, size } = event;
    const only = !all.some((other) => other.mode === "drive");
    return [...all, { id, mode, size, actedAt: mode === "drive" && size !== null && only ? now : 0 }];
  }
  return all.map((one) => {
    if (one.id !== event.id || one.mode === "observe") return one;
    return { ...one, actedAt: now, size: event.kind === "resized" ? event.size : one.size };
  });
}

/**
 * The viewer that determines the terminal's size: the driver that last typed or resized, or else the first driver. Null if no driver
 * has a size; the terminal then keeps its current size.
 */
export function sizeOwner(all: ViewerStates): (ViewerState & { readonly size: TerminalSize }) | null {
  let owner: (ViewerState & { readonly size: TerminalSize }) | null = null;
  for (const one of all) {
    const { mode, size, actedAt } = one;
    if (mode !== "drive" || size === null) continue;
    if (owner === null || actedAt > owner.actedAt) owner = { ...one, size };
  }
  return owner;
}
