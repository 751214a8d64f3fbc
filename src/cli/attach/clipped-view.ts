import headlessModule, { type IBuffer, type IBufferCell } from "@xterm/headless";
import type { Clock } from "../../core/clock.ts";
import { unpooled } from "../../core/unpooled.ts";
import { createScreenState } from "./screen-state.ts";

// The addon reads its table from offset 0 of the underlying ArrayBuffer, which is wrong for a pooled buffer.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));

/** Columns and rows of a terminal. */
export interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** Shows a session's screen in a terminal of another size: the part around the cursor that fits. */
export interface ClippedView {
  /** Writes filtered output of the session. `taken` is called when the output has been processed. */
  write(output: string, taken: () => void): void;
  /** The session has this size for all later output. */
  resize(size: Size): void;
  /** The user's terminal changed its size. */
  windowChanged(): void;
  close(): void;
}

/** What a view needs to paint. */
export interface ClippedViewDeps {
  readonly clock: Clock;
  readonly window: () => Size;
  readonly paint: (text: string) => void;
}

/** Painting more often would not be visible. */
const paintEveryMs = 30;

/** Creates a view that first paints after `firstPaintMs`, on the alternate screen. */
export function createClippedView(
  { clock, window, paint }: ClippedViewDeps,
  options: { readonly size: Size; readonly firstPaintMs: number },
): ClippedView {
  const model = new headlessModule.Terminal({ ...options.size, scrollback: 0, allowProposedApi: true });
  model.loadAddon(new graphemesModule.UnicodeGraphemesAddon());
  const state = createScreenState();
  let rows: string[] = [];
  let modes = "";
  let left = 0;
  let top = 0;
  let begun = false;
  let cancel: (() => void) | undefined;

  function later(ms = paintEveryMs): void {
    cancel ??= clock.after(ms, () => {
      cancel = undefined;
      paintNow();
    });
  }

  function paintNow(): void {
    const { cols, rows: height } = window();
    const buffer = model.buffer.active;
    left = shifted(left, { at: buffer.cursorX, length: cols });
    top = shifted(top, { at: buffer.cursorY, length: height });
    let text = begun ? "" : "\x1b[?1049h";
    begun = true;
    const wanted = Array.from({ length: height }, (_, row) => rowText(buffer, { row: top + row, left, cols }));
    const free = model.rows - top;
    if (free < height) wanted[free] = note(model, cols);
    for (const [row, content] of wanted.entries()) {
      if (rows[row] !== content) text += `\x1b[${row + 1};1H\x1b[m\x1b[K${content}`;
    }
    rows = wanted;
    const keys = keyModes(model);
    if (keys !== modes) text += keys;
    modes = keys;
    const place = `\x1b[m\x1b[${buffer.cursorY - top + 1};${buffer.cursorX - left + 1}H`;
    const cursor = state.cursorHidden ? "" : "\x1b[?25h";
    // No wrapping: a character that is wider in the window must not continue in the next row.
    paint(`\x1b[?2026h\x1b[?25l\x1b[?7l${text}\x1b[?7h${place}${cursor}\x1b[?2026l`);
  }

  later(options.firstPaintMs);
  return {
    write(output, taken) {
      state.note(output);
      model.write(output, () => {
        taken();
        later();
      });
    },
    resize({ cols, rows: height }) {
      // Waits for earlier writes.
      model.write("", () => {
        model.resize(cols, height);
        rows = [];
        later();
      });
    },
    windowChanged() {
      rows = [];
      later();
    },
    close() {
      cancel?.();
      cancel = () => undefined; // nothing is painted after that
      model.dispose();
    },
  };
}

/** The window's first column or row, moved only as far as needed to show the cursor. */
function shifted(first: number, { at, length }: { readonly at: number; readonly length: number }): number {
  return Math.max(0, Math.min(first, at), at - length + 1);
}

function note({ cols, rows }: Size, width: number): string {
  return `\x1b[2m${`(session terminal: ${cols}x${rows})`.slice(0, width)}`;
}

/** The modes that make the user's terminal send the right keys. Mouse modes are left out, because the positions would be wrong. */
function keyModes({ modes }: headlessModule.Terminal): string {
  const { applicationCursorKeysMode, applicationKeypadMode, bracketedPasteMode } = modes;
  const set = (mode: number, on: boolean): string => `\x1b[?${mode}${on ? "h" : "l"}`;
  return `${set(1, applicationCursorKeysMode)}${set(2004, bracketedPasteMode)}${applicationKeypadMode ? "\x1b=" : "\x1b>"}`;
}

/** The cells of a row that the window shows, with their attributes. */
function rowText(
  buffer: IBuffer,
  { row, left, cols }: { readonly row: number; readonly left: number; readonly cols: number },
): string {
  const line = buffer.getLine(buffer.baseY + row);
  if (line === undefined) return "";
  let text = "";
  let before = "";
  for (let column = left; column < Math.min(line.length, left + cols); column += 1) {
    const cell = line.getCell(column);
    if (cell === undefined) break;
    const width = cell.getWidth();
    const cut = width === 0 ? column === left : column + width > left + cols; // half of a wide character
    if (width === 0 && !cut) continue;
    const attributes = attributesOf(cell);
    if (attributes !== before) text += attributes;
    before = attributes;
    text += cut ? " " : cell.getChars() || " ";
  }
  return text.endsWith(" ") && before === plain ? text.trimEnd() : text;
}

const plain = "\x1b[0m";

function attributesOf(cell: IBufferCell): string {
  let sgr = "0";
  if (cell.isBold()) sgr += ";1";
  if (cell.isDim()) sgr += ";2";
  if (cell.isItalic()) sgr += ";3";
  if (cell.isUnderline()) sgr += ";4";
  if (cell.isBlink()) sgr += ";5";
  if (cell.isInverse()) sgr += ";7";
  if (cell.isInvisible()) sgr += ";8";
  if (cell.isStrikethrough()) sgr += ";9";
  if (cell.isOverline()) sgr += ";53";
  if (!cell.isFgDefault()) sgr += color(30, cell.getFgColor(), cell.getFgColorMode());
  if (!cell.isBgDefault()) sgr += color(40, cell.getBgColor(), cell.getBgColorMode());
  return `\x1b[${sgr}m`;
}

/** How the model marks one of the first 16 colours, and an RGB colour. Everything else is one of 256. */
const sixteenMode = 0x1000000;
const partsMode = 0x3000000;

function color(first: 30 | 40, value: number, mode: number): string {
  if (mode === sixteenMode) return `;${value < 8 ? first + value : first + 52 + value}`;
  if (mode !== partsMode) return `;${first + 8};5;${value}`;
  return `;${first + 8};2;${(value >> 16) & 255};${(value >> 8) & 255};${value & 255}`;
}
