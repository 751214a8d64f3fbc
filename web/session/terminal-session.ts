import { PosternClientError } from "../../src/client/index.ts";
import { type TerminalMode, terminalTicketSchema } from "../../src/wire/terminal.ts";
import { messageOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { createTerminalConnection } from "./terminal-connection.ts";
import { linksIn } from "./terminal-links.ts";
import type { ConnectionState, StopReason, TicketAnswer } from "./terminal-protocol.ts";
import { createTerminalScreen, type TerminalLook } from "./terminal-screen.ts";

export interface TerminalSession {
  /** Sends the input of a key in the key row. */
  press(key: TerminalKey): void;
  paste(text: string): void;
  find(text: string, direction: "next" | "previous"): void;
  endFind(): void;
  setLook(look: TerminalLook): void;
  takeSize(): void;
  /** Call when the element was resized or became visible. */
  layOut(): void;
  retryNow(): void;
  focus(): void;
  close(): void;
}

export type TerminalKey = "Escape" | "Tab" | "ShiftTab" | "Interrupt" | "Enter" | "Up" | "Down" | "Left" | "Right";

export interface TerminalSessionOptions {
  readonly sessionId: string;
  readonly mode: TerminalMode | undefined;
  readonly label: string;
  readonly look: TerminalLook;
  /** False: never send this window's size. */
  readonly sizing: boolean;
  /** How to shrink a terminal that is larger than its element. */
  readonly shrink: "both" | "width";
  /** Reconnects at most this many times in a row; without end if absent. */
  readonly maxAttempts?: number;
  readonly onState: (state: ConnectionState) => void;
  readonly onSize: (size: { readonly cols: number; readonly rows: number }) => void;
  readonly onRefused: () => void;
  readonly onFind: () => void;
  readonly onLeave: () => void;
  readonly onMatches: (found: { readonly index: number; readonly count: number }) => void;
  /** Called when the web addresses in the terminal change. */
  readonly onLinks?: ((links: readonly string[]) => void) | undefined;
  /** Reads and resets the Ctrl key of the key row. */
  readonly takeCtrl: () => boolean;
}

/** Final letters of cursor keys. */
const cursorKeys: Readonly<Partial<Record<TerminalKey, string>>> = { Up: "A", Down: "B", Right: "C", Left: "D" };
const plainKeys: Readonly<Partial<Record<TerminalKey, string>>> = {
  Escape: "\x1b",
  Tab: "\t",
  ShiftTab: "\x1b[Z",
  Interrupt: "\x03",
  Enter: "\r",
};
/** A resize is sent once dragging has paused. */
const restMs = 120;
/** Focus reports: with several viewers they are meaningless, and would count as typing. */
const focusReport = /^\x1b\[[IO]$/;
const findLook = {
  decorations: {
    matchBackground: "#8a6d1f",
    activeMatchBackground: "#e9a94d",
    matchOverviewRuler: "#e9a94d",
    activeMatchColorOverviewRuler: "#e9a94d",
  },
};

export function openTerminalSession(element: HTMLElement, options: TerminalSessionOptions): TerminalSession {
  const { sessionId } = options;
  let { sizing } = options;
  let state: ConnectionState = { kind: "connecting", again: false };
  let sentSize = "";
  let restTimer: ReturnType<typeof setTimeout> | undefined;
  let linksTimer: ReturnType<typeof setTimeout> | undefined;
  const screen = createTerminalScreen(element, {
    label: options.label,
    look: options.look,
    onResize: (size) => {
      options.onSize(size);
      show();
    },
  });
  const { terminal, feed, search } = screen;

  function sizer(): boolean {
    return state.kind === "live" && state.viewers?.sizer === true;
  }

  /** Whether this is the only driver and its size was not known when it connected: it can then set the size now. */
  function mayClaim(): boolean {
    return state.kind === "live" && state.mode === "drive" && state.viewers?.drivers === 1 && sentSize === "";
  }

  function show(): void {
    const size = screen.fittingSize();
    if (size === null) return;
    const fits = terminal.cols <= size.cols && terminal.rows <= size.rows;
    screen.shrinkToFit(sizing && (sizer() || fits) ? "nothing" : options.shrink);
    // The new font is measured in the next frame.
    if (options.shrink === "width" || options.look.smallestFontPx !== undefined)
      requestAnimationFrame(() => screen.showCursor());
    if (!sizing) return;
    connection.preferSize(size);
    const text = `${size.cols}x${size.rows}`;
    if (text === sentSize || !(sizer() || mayClaim())) return;
    sentSize = text;
    connection.resize(size);
  }

  const initialSize = sizing ? screen.fittingSize() : null;
  if (initialSize !== null) {
    sentSize = `${initialSize.cols}x${initialSize.rows}`;
    terminal.resize(initialSize.cols, initialSize.rows);
  }
  const connection = createTerminalConnection({
    url: `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/api/coding/coding_xterm_session`,
    sessionId,
    mode: options.mode,
    size: initialSize,
    maxAttempts: options.maxAttempts,
    requestTicket: (mode) => requestTicket(sessionId, mode),
    feed,
    onState(next) {
      state = next;
      if (next.kind === "live") show();
      terminal.options.disableStdin = next.kind === "ended" || next.kind === "stopped";
      options.onState(next);
    },
  });

  function type(data: string): void {
    if (data === "" || focusReport.test(data)) return;
    const ctrl = options.takeCtrl() ? controlCharacter(data) : null;
    if (!connection.type(ctrl ?? data)) options.onRefused();
  }

  const { onLinks } = options;
  let links: readonly string[] = [];
  const lookForLinks = (): void => {
    linksTimer = undefined;
    const found = linksIn(terminal.buffer.active);
    if (found.join("\n") === links.join("\n")) return;
    links = found;
    onLinks?.(found);
  };
  if (onLinks !== undefined) terminal.onWriteParsed(() => (linksTimer ??= setTimeout(lookForLinks, restMs)));
  terminal.onData(type);
  terminal.onBinary((data) => {
    if (!connection.type(Uint8Array.from(data, (character) => character.charCodeAt(0) & 0xff))) options.onRefused();
  });
  search.onDidChangeResults(({ resultIndex, resultCount }) =>
    options.onMatches({ index: resultIndex + 1, count: resultCount }),
  );
  terminal.attachCustomKeyEventHandler((event) => {
    const action = keyAction(event, terminal.hasSelection());
    if (action === "agent") return true;
    if (event.type === "keydown") {
      if (action === "copy") void navigator.clipboard?.writeText(terminal.getSelection()).catch(() => undefined);
      else if (action === "new line") type("\x1b\r");
      else if (action === "find") options.onFind();
      else if (action === "leave") options.onLeave();
    }
    // The browser's paste event has the text.
    if (action !== "paste") event.preventDefault();
    return false;
  });
  const onPaste = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    paste(event.clipboardData?.getData("text/plain") ?? "");
  };
  element.addEventListener("paste", onPaste, { capture: true });

  function paste(text: string): void {
    const clean = pastedText(text);
    if (clean !== "") terminal.paste(clean);
  }

  function layOut(): void {
    clearTimeout(restTimer);
    restTimer = setTimeout(show, restMs);
  }

  return {
    press(key) {
      const cursor = cursorKeys[key];
      type(
        cursor === undefined
          ? (plainKeys[key] ?? "")
          : `\x1b${terminal.modes.applicationCursorKeysMode ? "O" : "["}${cursor}`,
      );
    },
    paste,
    find(text, direction) {
      if (direction === "next") search.findNext(text, { ...findLook, incremental: true });
      else search.findPrevious(text, findLook);
    },
    endFind() {
      search.clearDecorations();
      terminal.clearSelection();
    },
    setLook(look) {
      screen.setLook(look);
      show();
    },
    takeSize() {
      sizing = true;
      screen.shrinkToFit("nothing");
      const size = screen.fittingSize();
      if (size === null) return;
      sentSize = `${size.cols}x${size.rows}`;
      connection.resize(size);
    },
    layOut,
    retryNow: () => connection.retryNow(),
    focus: () => terminal.focus(),
    close() {
      clearTimeout(restTimer);
      clearTimeout(linksTimer);
      element.removeEventListener("paste", onPaste, { capture: true });
      connection.close();
      screen.close();
    },
  };
}

type KeyAction = "agent" | "copy" | "paste" | "new line" | "find" | "leave";

/** All keys that the pane does not use go to the agent, including Escape and Tab. */
function keyAction(event: KeyboardEvent, hasSelection: boolean): KeyAction {
  const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (key === "F6" || (key === "Escape" && ctrlKey && shiftKey)) return "leave";
  if (key === "Enter" && shiftKey && !ctrlKey && !metaKey && !altKey) return "new line";
  if (altKey || ctrlKey === metaKey) return "agent";
  const letter = key.toLowerCase();
  if (letter === "f" && !shiftKey) return "find";
  if (letter === "v") return "paste";
  if (letter === "c" && (shiftKey || hasSelection || metaKey)) return "copy";
  return "agent";
}

const stopOfCode: Readonly<Record<string, StopReason>> = {
  unauthenticated: "not_signed_in",
  insufficient_scope: "not_allowed",
  dir_not_allowed: "not_allowed",
  origin_not_allowed: "not_allowed",
  session_not_found: "no_such_session",
  invalid_request: "bad_request",
};

async function requestTicket(sessionId: string, mode: TerminalMode | undefined): Promise<TicketAnswer> {
  try {
    const { ticket } = await acting.createTerminalTicket({ sessionId, mode }, { output: terminalTicketSchema });
    return { kind: "ticket", ticket };
  } catch (error) {
    const why = error instanceof PosternClientError ? stopOfCode[error.code] : undefined;
    const away = error instanceof PosternClientError && (error.status === 0 || error.code === "gateway_stopping");
    const reason = away ? "The gateway cannot be reached." : messageOf(error);
    return why === undefined ? { kind: "retry", reason } : { kind: "stop", why, reason };
  }
}

/** Removes control characters except tab and newline, so that pasted text can neither end the paste nor press keys. */
function pastedText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

/** The control character of Ctrl and a key; null if there is none. */
function controlCharacter(character: string): string | null {
  if (character.length !== 1) return null;
  const upper = character.toUpperCase();
  if (/[@A-Z[\\\]^_]/.test(upper)) return String.fromCharCode(upper.charCodeAt(0) & 0x1f);
  if (character === " ") return "\0";
  return character === "?" ? "\x7f" : null;
}
