import type { Clock } from "../../core/clock.ts";
import { createTerminalFilter } from "../../core/terminal-filter.ts";
import { type ClippedView, createClippedView, type Size } from "./clipped-view.ts";
import { createScreenState } from "./screen-state.ts";
import type { UserTerminal } from "./user-terminal.ts";

/** A session's screen in the user's terminal. Nothing else writes to the terminal. */
export interface SessionScreen {
  /** Whether the window shows only a part of the session's screen, because their sizes differ. */
  readonly isClipped: boolean;
  /** Whether a notice would replace the session's screen, which must then be requested again. */
  readonly coversScreen: boolean;
  /** A screen of this size follows. If it does not fit, it is first painted after `firstPaintMs`. */
  begin(size: Size, firstPaintMs: number): void;
  /** Replaces the whole screen. */
  screen(data: Uint8Array): void;
  output(data: Uint8Array): void;
  resize(size: Size): void;
  windowChanged(): void;
  fits(size: Size): boolean;
  /** Shows a notice on a separate screen, which keeps the session's screen. */
  showNotice(words: string): void;
  hideNotice(): void;
  /** Restores the user's terminal; nothing is written after that. Idempotent. */
  restore(): void;
}

/** The connection is paused when the clipped view has more unprocessed output than this. */
const maxUnreadLength = 1024 * 1024;

/** @param onBusy called with whether output should wait */
export function createSessionScreen(
  { terminal, clock }: { readonly terminal: UserTerminal; readonly clock: Clock },
  onBusy: (busy: boolean) => void,
): SessionScreen {
  const filter = createTerminalFilter();
  const state = createScreenState();
  /** If undefined, output is written as it arrives. */
  let view: ClippedView | undefined;
  let unreadLength = 0;
  /** Whether the previous content of the user's terminal was scrolled away. */
  let cleared = false;
  let noticed = false;
  let restored = false;

  function show(text: string): void {
    if (text === "" || restored) return;
    state.note(text);
    terminal.write(text);
  }

  function write(text: string): void {
    const reader = view;
    if (reader === undefined) return show(text);
    unreadLength += text.length;
    if (unreadLength > maxUnreadLength) onBusy(true);
    reader.write(text, () => {
      if (view !== reader) return;
      unreadLength -= text.length;
      if (unreadLength <= maxUnreadLength) onBusy(false);
    });
  }

  function closeView(): void {
    view?.close();
    view = undefined;
    unreadLength = 0;
  }

  function fits({ cols, rows }: Size): boolean {
    const window = terminal.size();
    return cols === window.cols && rows === window.rows;
  }

  function hideNotice(): void {
    if (!noticed) return;
    noticed = false;
    show("\x1b[?1049l");
  }

  return {
    get isClipped() {
      return view !== undefined;
    },
    get coversScreen() {
      return !noticed && (state.alternate || view !== undefined);
    },
    begin(size, firstPaintMs) {
      closeView();
      if (fits(size)) return;
      view = createClippedView({ clock, window: () => terminal.size(), paint: show }, { size, firstPaintMs });
    },
    screen(data) {
      filter.reset();
      const text = filter.write(data);
      if (view !== undefined) {
        hideNotice();
        return write(`\x1bc${text}`);
      }
      // Scrolls the user's lines up, above the session's.
      const moved = cleared ? "" : `\x1b[999;1H${"\n".repeat(terminal.size().rows)}`;
      show(`${state.reset()}${moved}\x1b[H\x1b[J${text}`);
      cleared = true;
      noticed = false;
    },
    output: (data) => write(filter.write(data)),
    resize: (size) => view?.resize(size),
    windowChanged: () => view?.windowChanged(),
    fits,
    showNotice(words) {
      if (noticed) return;
      noticed = true;
      closeView();
      show(`${state.alternate ? "" : "\x1b[?1049h"}\x1b[m\x1b[H\x1b[J${words}\r\n`);
    },
    hideNotice,
    restore() {
      if (restored) return;
      closeView();
      show(`${state.reset()}${cleared ? "\x1b[999;1H\r\n" : ""}`);
      restored = true;
    },
  };
}
