import type { TerminalSize } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { TerminalCloseCode, TerminalMode } from "../wire/terminal.ts";

/** A viewer's connection, as the face that holds its socket gives it. Sending never waits; what is not sent yet is counted. */
export interface ViewerLink {
  sendText(text: string | Uint8Array): void;
  sendBinary(data: Uint8Array): void;
  /** Bytes that were given to it and have not left this process. */
  unsentBytes(): number;
  close(code: TerminalCloseCode, reason: string): void;
}

/** What a viewer wants to see. */
export interface ViewRequest {
  readonly sessionId: string;
  /** Undefined: drive if the caller may, else observe. */
  readonly mode: TerminalMode | undefined;
  readonly size: { readonly cols: number; readonly rows: number } | undefined;
  /** `plain`: the seed's text frames. `v1`: the subprotocol of `wire/terminal`. */
  readonly protocol: "plain" | "v1";
  /** Where a viewer was that connects again by itself; without an offset it takes the screen. It starts no agent that has ended. */
  readonly continueAt: { readonly terminalId: string; readonly offset: number | undefined } | undefined;
  /** While this driver is there, permissions are asked in the terminal and not by way of the gateway. */
  readonly permissionsInTerminal: boolean;
}

/** One viewer, to be told what its connection receives. What comes before the terminal is ready is kept, within bounds. */
export interface Viewer {
  receive(data: Buffer, isBinary: boolean): void;
  /** Its connection sent all that it had been given. */
  drained(): void;
  /** Its connection is gone. Idempotent. */
  leave(): void;
}

/** Opens the live terminal of a session for as long as the viewer stays. An error closes the link. */
export type ViewTerminal = (request: ViewRequest, caller: Caller, link: ViewerLink) => Viewer;

/** One who looks at a terminal. */
export interface ViewerState {
  readonly id: number;
  readonly mode: TerminalMode;
  /** Null until it says. */
  readonly size: TerminalSize | null;
  /** When it last typed or resized, as a count; 0 is never. */
  readonly actedAt: number;
}

/** All who look at one terminal, in the order in which they came. */
export type ViewerStates = readonly ViewerState[];

/** What happens among them. */
export type ViewerEvent =
  | { readonly kind: "came"; readonly id: number; readonly mode: TerminalMode; readonly size: TerminalSize | null }
  | { readonly kind: "typed"; readonly id: number }
  | { readonly kind: "resized"; readonly id: number; readonly size: TerminalSize }
  | { readonly kind: "left"; readonly id: number };

/**
 * Who looks on after `event`. A driver that comes counts as having acted only when it is the only one: a second window, or a phone that
 * only looks, changes nothing before it types or is resized. Of an observer nothing counts.
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
 * The one whose size the terminal has: the driver who last typed or resized; of those who never did, the one who came first. Null when
 * no driver has told a size: then the terminal keeps what it has.
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
