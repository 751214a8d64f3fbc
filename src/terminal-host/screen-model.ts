import headlessModule, { type IBuffer } from "@xterm/headless";
import { unpooled } from "../core/unpooled.ts";
import { incompleteCharacterBytes } from "../core/utf8.ts";
import { watchHiddenModes } from "./hidden-modes.ts";
import { watchIncompleteOutput } from "./incomplete-output.ts";
import { paintScreen } from "./paint-screen.ts";
import { answerQueries } from "./query-answers.ts";
import { insidesOf, type XtermInternals } from "./xterm-internals.ts";

// It reads its table from where the memory of the table's buffer begins: garbage, now and then, in shared memory.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
const { Terminal } = headlessModule;
const { UnicodeGraphemesAddon } = graphemesModule;

/** A painted screen; the offset is the caller's to know. */
export interface PaintedScreen {
  readonly cols: number;
  readonly rows: number;
  readonly ansi: string;
  readonly lines: readonly string[];
  /** The same without what is faint; null in a screen that is not `plain`. */
  readonly bright: readonly string[] | null;
  readonly title: string | null;
}

/** A terminal without a display that parses output and knows the screen. */
export interface ScreenModel {
  /** Parses before it returns. */
  write(data: Uint8Array): void;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  size(): { readonly cols: number; readonly rows: number };
  /** `plain`: with an empty `ansi`, which costs most of it. */
  paint(options?: { readonly plain: boolean }): PaintedScreen;
  /** The last bytes written that are not part of the picture, because the character or sequence they begin is not complete. */
  incompleteBytes(): number;
  close(): void;
}

/** Lines above the screen that a snapshot can give back; the full history is in the raw log. */
const SCROLLBACK_LINES = 1_000;
/** A program may set any title; nobody reads more of it. */
const TITLE_CHARACTERS = 200;
/** A snapshot above this (every cell in its own colour) goes without scrollback. */
const ANSI_LIMIT = 8 * 1024 * 1024;

/** Erasing up to the cursor (`CSI 1 J`) in the last cell of a screen without scrollback makes xterm.js fail; it is the whole screen. */
function eraseToLastCell(terminal: InstanceType<typeof Terminal>, { buffers, input }: XtermInternals): void {
  terminal.parser.registerCsiHandler({ final: "J" }, ([kind]) => {
    const { x, y, lines } = terminal.buffer.active.type === "alternate" ? buffers.alt : buffers.normal;
    if (kind !== 1 || x + 1 < terminal.cols || lines.get(y + 1) !== undefined) return false;
    return input.eraseInDisplay({ params: [2], length: 1 });
  });
}

/** An empty screen. `answer` gets the replies to the program's queries, during {@link ScreenModel.write}. */
export function createScreenModel(
  size: { readonly cols: number; readonly rows: number },
  answer: (data: string) => void,
): ScreenModel {
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
  terminal.onTitleChange((told) => {
    title = told.slice(0, TITLE_CHARACTERS);
  });
  const parts = { terminal, internals: insidesOf(terminal), untold: watchHiddenModes(terminal) };
  eraseToLastCell(terminal, parts.internals);
  answerQueries(terminal, answer);
  terminal.onData((data) => {
    if (data !== "") answer(data);
  });

  return {
    write(data) {
      incomplete.push(data);
      // The terminal's own decoder loses some characters that are cut between two writes, so it gets none.
      const joined = cut.byteLength === 0 ? data : Buffer.concat([cut, data]);
      const whole = joined.byteLength - incompleteCharacterBytes(joined);
      cut = joined.slice(whole);
      terminal.input("", true); // after user input the next write is parsed at once, not on a timer
      terminal.write(joined.subarray(0, whole));
    },
    resize: ({ cols, rows }) => terminal.resize(cols, rows),
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
    paint({ plain } = { plain: false }) {
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
    incompleteBytes: incomplete.bytes,
    close: () => terminal.dispose(),
  };
}

function visibleLines(
  buffer: { readonly baseY: number; getLine(y: number): { translateToString(trimRight: boolean): string } | undefined },
  rows: number,
): string[] {
  return Array.from({ length: rows }, (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "");
}

/** The visible rows with a blank for each faint cell, and for a cursor (inverse) that stands on the first letter of a faint hint. */
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
