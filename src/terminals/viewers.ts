import type { TerminalSize } from "../terminal-host/terminal-info.ts";
import type { TerminalMode } from "../wire/terminal.ts";

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
