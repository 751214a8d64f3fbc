import headlessModule, { type Terminal as HeadlessTerminal, type IBuffer } from "@xterm/headless";
import { unpooled } from "../core/unpooled.ts";
import { incompleteCharacterBytes } from "../core/utf8.ts";
import { paintScreen } from "./paint-screen.ts";
import { answerQueries } from "./queries.ts";
import type { TerminalSize } from "./terminal-info.ts";
import { insidesOf, type XtermInternals } from "./xterm-internals.ts";

// The addon reads its table from the start of the underlying buffer. If that buffer is pooled, this can be other data.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
const { Terminal } = headlessModule;
const { UnicodeGraphemesAddon } = graphemesModule;

/** A painted screen. */
export interface PaintedScreen {
  readonly cols: number;
  readonly rows: number;
  readonly ansi: string;
  readonly lines: readonly string[];
  /** The same without faint text; null in a screen that is not `plain`. */
  readonly bright: readonly string[] | null;
  readonly title: string | null;
}

/** A terminal without a display that parses output and keeps the screen. */
export type ScreenModel = ReturnType<typeof createScreenModel>;

/** Lines above the screen that a snapshot can include; the full history is in the raw log. */
const SCROLLBACK_LINES = 1_000;
const TITLE_CHARACTERS = 200;
/** A larger snapshot (each cell in a different color) is sent without scrollback. */
const ANSI_LIMIT = 8 * 1024 * 1024;

/** xterm.js fails to erase up to the cursor (`CSI 1 J`) in the last cell of a screen without scrollback, so this erases the whole screen. */
function eraseToLastCell(terminal: HeadlessTerminal, { buffers, input }: XtermInternals): void {
  terminal.parser.registerCsiHandler({ final: "J" }, ([kind]) => {
    const { x, y, lines } = terminal.buffer.active.type === "alternate" ? buffers.alt : buffers.normal;
    if (kind !== 1 || x + 1 < terminal.cols || lines.get(y + 1) !== undefined) return false;
    return input.eraseInDisplay({ params: [2], length: 1 });
  });
}

/** Creates an empty screen. `answer` receives the replies to the program's queries, during `write`. */
export function createScreenModel(size: TerminalSize, answer: (data: string) => void) {
  const terminal = new Terminal({
    ...size,
    scrollback: SCROLLBACK_LINES,
    allowProposedApi: true,
    windowOptions: { getWinSizeChars: true },
    logLevel: "off",
  });
  terminal.loadAddon(new UnicodeGraphemesAddon());
  const incomplete = watchIncompleteOutput();
  let cut: Uint8Array = new Uint8Array(0);
  let title: string | null = null;
  terminal.onTitleChange((newTitle) => {
    title = newTitle.slice(0, TITLE_CHARACTERS);
  });
  const internals = insidesOf(terminal);
  const hiddenModes = watchHiddenModes(terminal);
  eraseToLastCell(terminal, internals);
  answerQueries(terminal, answer);
  terminal.onData((data) => {
    if (data !== "") answer(data);
  });

  return {
    /** Parses before it returns. */
    write(data: Uint8Array): void {
      incomplete.push(data);
      // The terminal's decoder loses some characters that are cut between two writes.
      const joined = cut.byteLength === 0 ? data : Buffer.concat([cut, data]);
      const whole = joined.byteLength - incompleteCharacterBytes(joined);
      cut = joined.slice(whole);
      terminal.input("", true); // after user input the next write is parsed at once, not on a timer
      terminal.write(joined.subarray(0, whole));
    },
    resize: ({ cols, rows }: TerminalSize): void => terminal.resize(cols, rows),
    size: (): TerminalSize => ({ cols: terminal.cols, rows: terminal.rows }),
    /** `plain`: leaves `ansi` empty, which saves most of the cost. */
    paint({ plain } = { plain: false }): PaintedScreen {
      const parts = { terminal, internals, hiddenModes: hiddenModes() };
      const full = plain ? "" : paintScreen(parts, { scrollback: true });
      return {
        cols: terminal.cols,
        rows: terminal.rows,
        ansi: full.length <= ANSI_LIMIT ? full : paintScreen(parts, { scrollback: false }),
        lines: visibleLines(terminal.buffer.active, terminal.rows),
        bright: plain ? brightLines(terminal.buffer.active, terminal.rows) : null,
        title,
      };
    },
    /** The last bytes written that are not shown, because they begin an incomplete character or sequence. */
    incompleteBytes: incomplete.bytes,
    close: () => terminal.dispose(),
  };
}

function visibleLines(buffer: IBuffer, rows: number): string[] {
  return Array.from({ length: rows }, (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "");
}

/** The visible rows with a blank for each faint cell, and for an inverse cell (the cursor) on the first letter of a faint hint. */
function brightLines(buffer: IBuffer, rows: number): string[] {
  return Array.from({ length: rows }, (_, row) => {
    const line = buffer.getLine(buffer.baseY + row);
    const cells = Array.from({ length: line?.length ?? 0 }, (_cell, x) => line?.getCell(x));
    const isFaint = (x: number): boolean => Boolean(cells[x]?.isDim());
    const text = cells.map((cell, x) => {
      if (cell === undefined || cell.getWidth() === 0) return "";
      return isFaint(x) || (cell.isInverse() && isFaint(x + cell.getWidth())) ? " " : cell.getChars() || " ";
    });
    return text.join("").trimEnd();
  });
}

/** Modes to remember: mouse in UTF-8 and in urxvt's encoding, alternate scroll, reports of light and dark. */
const REMEMBERED = new Set([1005, 1015, 1007, 2031]);
const CURSOR_BLINK = 12;
/** How keys with modifiers are reported. */
const MODIFY_OTHER_KEYS = 4;

/** @returns the sequences for modes that matter to a viewer's terminal, which the model ignores or keeps in another form */
function watchHiddenModes(terminal: HeadlessTerminal): () => string {
  const set = new Set<number>();
  let cursorStyle = 0;
  let otherKeys = 0;

  function reset(): false {
    set.clear();
    cursorStyle = 0;
    otherKeys = 0;
    return false;
  }
  function change(params: readonly (number | number[])[], on: boolean): false {
    for (const param of params) {
      if (typeof param !== "number") continue;
      if (on && (REMEMBERED.has(param) || param === CURSOR_BLINK)) set.add(param);
      else set.delete(param);
    }
    return false;
  }
  const { parser } = terminal;
  parser.registerEscHandler({ final: "c" }, reset);
  parser.registerCsiHandler({ intermediates: "!", final: "p" }, () => {
    cursorStyle = 0;
    return false;
  });
  parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => change(params, true));
  parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => change(params, false));
  parser.registerCsiHandler({ prefix: ">", final: "m" }, ([resource, value]) => {
    if (resource === MODIFY_OTHER_KEYS) otherKeys = typeof value === "number" && value <= 2 ? value : 0;
    else if (resource === undefined) otherKeys = 0;
    return false;
  });
  parser.registerCsiHandler({ intermediates: " ", final: "q" }, ([style]) => {
    cursorStyle = typeof style === "number" ? style : 0;
    return false;
  });

  return () => {
    let text = "";
    for (const mode of set) text += `\x1b[?${mode}h`;
    if (cursorStyle !== 0) text += `\x1b[${cursorStyle} q`;
    if (otherKeys !== 0) text += `\x1b[>4;${otherKeys}m`;
    return text;
  };
}

type State = "ground" | "escape" | "escape_intermediate" | "csi" | "osc" | "string";

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const STRING_STARTS = new Set(["P", "X", "^", "_"].map((char) => char.charCodeAt(0)));

/**
 * Detects output that ends in the middle of a character, or of a sequence that has had no effect yet. An escape character always starts
 * a new sequence, so only the bytes after the last escape character count.
 * @see https://vt100.net/emu/dec_ansi_parser
 */
function watchIncompleteOutput() {
  let state: State = "ground";
  /** Number of bytes since the escape character of an incomplete sequence. */
  let sequenceBytes = 0;
  let characterBytes = 0;
  let last: Uint8Array = new Uint8Array(0);

  return {
    push(data: Uint8Array): void {
      if (data.byteLength === 0) return;
      const escapeAt = data.lastIndexOf(ESC);
      if (escapeAt >= 0) {
        state = "escape";
        sequenceBytes = 0;
      }
      if (state !== "ground") {
        let at = escapeAt + 1;
        while (at < data.byteLength && state !== "ground") state = nextState(state, data[at++] ?? 0);
        sequenceBytes = state === "ground" ? 0 : sequenceBytes + data.byteLength - Math.max(0, escapeAt);
      }
      last = last.byteLength === 0 || data.byteLength >= 4 ? data.slice(-4) : joinTail(last, data);
      characterBytes = incompleteCharacterBytes(last);
    },
    /** How many of the last bytes are not complete; mostly 0. */
    bytes: (): number => (state === "ground" ? characterBytes : sequenceBytes),
  };
}

function nextState(state: State, byte: number): State {
  if (byte === CAN || byte === SUB) return "ground";
  switch (state) {
    case "escape":
      if (byte === 0x5b) return "csi";
      if (byte === 0x5d) return "osc";
      if (STRING_STARTS.has(byte)) return "string";
      if (byte >= 0x20 && byte <= 0x2f) return "escape_intermediate";
      return byte < 0x20 ? "escape" : "ground";
    case "escape_intermediate":
      return byte >= 0x30 ? "ground" : state;
    case "csi":
      return byte >= 0x40 ? "ground" : state;
    case "osc":
      return byte === BEL ? "ground" : state;
    case "string":
    case "ground":
      return state;
  }
}

function joinTail(before: Uint8Array, data: Uint8Array): Uint8Array {
  return Uint8Array.from([...before, ...data]).slice(-4);
}
