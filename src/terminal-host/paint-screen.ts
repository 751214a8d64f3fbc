import type { Terminal } from "@xterm/headless";
import { characterBefore, paintRows } from "./paint-rows.ts";
import { type CellStyle, createPen, type Pen } from "./pen.ts";
import {
  BG,
  type InnerAttributes,
  type InnerBuffer,
  readCharsetNames,
  type XtermInternals,
} from "./xterm-internals.ts";

interface ScreenParts {
  readonly terminal: Terminal;
  readonly internals: XtermInternals;
  readonly hiddenModes: string;
}

interface At {
  readonly pen: Pen;
  readonly columns: number;
  readonly writing: InnerAttributes;
}

interface Corner {
  readonly x: number;
  readonly y: number;
}

const TAB_COLUMNS = 8;

let charsetNames: ReadonlyMap<unknown, string> | undefined;

/**
 * The escape sequences that make a new terminal equal to this one: every cell with its style, wrapped lines, both screens, cursors,
 * saved cursors, scroll regions, tab stops, character sets and modes; not titles, palette, clipboard and images. xterm.js's serializer
 * leaves out much of it, so a program's next output would look different to a viewer that has just attached.
 */
export function paintScreen(parts: ScreenParts, { scrollback }: { readonly scrollback: boolean }): string {
  const { terminal, internals } = parts;
  const { normal, alt: alternate } = internals.buffers;
  const pen = createPen(internals.links);
  const at = { pen, columns: terminal.cols, writing: internals.input["_curAttrData"] };
  const onAlternate = terminal.buffer.active.type === "alternate";
  paintRows(normal, { first: scrollback ? 0 : normal.ybase, ...at });
  paintTabs(normal, { pen, columns: terminal.cols });
  if (onAlternate) {
    paintRegion(normal, { pen, rows: terminal.rows });
    enterAlternate(normal, at);
    paintRows(alternate, { first: alternate.ybase, ...at });
    paintTabs(alternate, { pen, columns: terminal.cols });
  }
  const buffer = onAlternate ? alternate : normal;
  paintSaved(buffer, at);
  paintRegion(buffer, { pen, rows: terminal.rows });
  paintModes(parts, { pen, buffer });
  return pen.text();
}

/** Cursor, style and modes, in an order where none undoes another. */
function paintModes({ terminal, internals, hiddenModes }: ScreenParts, at: { pen: Pen; buffer: InnerBuffer }): void {
  const { pen, buffer } = at;
  const { modes, cols } = terminal;
  if (modes.originMode) pen.put("\x1b[?6h"); // moves the cursor home; rows are then counted from the scroll region
  const corner = { x: buffer.x, y: modes.originMode ? buffer.y - buffer.scrollTop : buffer.y };
  place(corner, { pen, columns: cols, line: lineAt(buffer, buffer.y) });
  const style = writingStyle(internals.input["_curAttrData"]);
  pen.style(style);
  if (internals.input["_parser"].precedingJoinState === 0) pen.stop();
  for (const [set, sequence] of [
    [modes.applicationCursorKeysMode, "\x1b[?1h"],
    [modes.applicationKeypadMode, "\x1b="],
    [modes.bracketedPasteMode, "\x1b[?2004h"],
    [modes.reverseWraparoundMode, "\x1b[?45h"],
    [modes.sendFocusMode, "\x1b[?1004h"],
    [!modes.wraparoundMode, "\x1b[?7l"],
    [terminal.options.convertEol === true, "\x1b[20h"],
    [modes.insertMode, "\x1b[4h"],
    [internals.service.isCursorHidden, "\x1b[?25l"],
  ] as const) {
    if (set) pen.put(sequence);
  }
  pen.put(MOUSE_TRACKING[modes.mouseTrackingMode] + (MOUSE_ENCODING.get(internals.mouse.activeEncoding) ?? ""));
  pen.put(hiddenModes);
  paintCharsets(internals.charsets, pen);
  rejoin({ internals, buffer, corner }, { pen, style, inserts: modes.insertMode });
}

const MOUSE_TRACKING = {
  none: "",
  x10: "\x1b[?9h",
  vt200: "\x1b[?1000h",
  drag: "\x1b[?1002h",
  any: "\x1b[?1003h",
} as const;

const MOUSE_ENCODING = new Map([
  ["SGR", "\x1b[?1006h"],
  ["SGR_PIXELS", "\x1b[?1016h"],
]);

/** Writes the last character of the output again at the end, so that the next output can combine with it or repeat it. */
function rejoin(
  {
    internals,
    buffer,
    corner,
  }: { readonly internals: XtermInternals; readonly buffer: InnerBuffer; readonly corner: Corner },
  { pen, style, inserts }: { readonly pen: Pen; readonly style: CellStyle; readonly inserts: boolean },
): void {
  if (internals.input["_parser"].precedingJoinState === 0) return;
  const before = characterBefore(lineAt(buffer, buffer.y), corner.x);
  if (before === undefined || before.style.fg !== style.fg || before.style.bg !== style.bg) return;
  if (inserts && before.characters.length > 1) return; // if inserted in parts, it would push out more cells than it occupies
  pen.put(`\x1b[${corner.y + 1};${before.x + 1}H`);
  if (inserts) pen.put(`\x1b[${corner.x - before.x}P`);
  pen.print(before.characters);
}

/** Places the cursor. Only printing the character in the last column puts the cursor after that column. */
function place(
  { x, y }: Corner,
  { pen, columns, line }: { readonly pen: Pen; readonly columns: number; readonly line: ReturnType<typeof lineAt> },
): void {
  const before = x < columns ? undefined : characterBefore(line, columns);
  pen.put(`\x1b[${y + 1};${Math.min(before?.x ?? x, columns - 1) + 1}H`);
  if (before === undefined) return;
  pen.style(before.style);
  pen.print(before.characters);
}

function lineAt(buffer: InnerBuffer, y: number): ReturnType<InnerBuffer["lines"]["get"]> {
  return buffer.lines.get(buffer.ybase + y);
}

/** Whether no cursor was saved. A cursor saved on the first visible row moves down when the terminal grows; the default cursor does not. */
function hasNothingSaved({ savedX, savedY, savedCurAttrData, savedCharset }: InnerBuffer): boolean {
  const { fg, bg } = savedCurAttrData;
  return savedX === 0 && savedY === 0 && fg === 0 && bg === 0 && savedCharset === undefined;
}

/** Keeps the main screen's cursor, which matters when the terminal is resized, and its saved cursor. */
function enterAlternate(normal: InnerBuffer, at: At): void {
  const { pen } = at;
  const y = Math.max(0, normal.savedY - normal.ybase);
  if (normal.savedX === normal.x && y === normal.y) {
    atSaved(normal, { ...at, sequence: "\x1b[?1049h" });
  } else {
    paintSaved(normal, at);
    place(normal, { ...at, line: lineAt(normal, normal.y) });
    pen.put("\x1b[?1047h");
  }
  pen.plain();
  pen.put("\x1b[2J\x1b[H"); // the screen may have been filled with the cursor's color
}

function paintSaved(buffer: InnerBuffer, at: At): void {
  if (!hasNothingSaved(buffer)) atSaved(buffer, { ...at, sequence: "\x1b7" });
}

/** Moves the cursor to where it was saved, and writes a sequence that saves it there. */
function atSaved(buffer: InnerBuffer, { sequence, pen, columns, writing }: At & { readonly sequence: string }): void {
  const y = Math.max(0, buffer.savedY - buffer.ybase);
  place({ x: buffer.savedX, y }, { pen, columns, line: lineAt(buffer, y) });
  const [fg, bg] = [buffer.savedCurAttrData.fg >>> 0, buffer.savedCurAttrData.bg >>> 0];
  // A saved cursor records only that there is an underline or link; which one comes from the current style.
  pen.style({ fg, bg, extended: (bg & BG.extended) === 0 ? undefined : writing.extended });
  const charset = nameOf(buffer.savedCharset);
  pen.put(charset === undefined ? sequence : `\x1b(${charset}${sequence}\x1b(B`);
  pen.plain();
}

/** The style that is written next. A link that is still open, but that a restored cursor has lost, is not part of it. */
function writingStyle({ extended, ...packed }: InnerAttributes): CellStyle {
  const [fg, bg] = [packed.fg >>> 0, packed.bg >>> 0]; // cells hold them without sign
  if ((bg & BG.extended) !== 0) return { fg, bg, extended };
  if (extended.underlineColor === 0) return { fg, bg, extended: undefined };
  return { fg, bg, extended: { _ext: 0, underlineColor: extended.underlineColor, urlId: 0 } };
}

function paintRegion({ scrollTop, scrollBottom }: InnerBuffer, { pen, rows }: { pen: Pen; rows: number }): void {
  if (scrollTop > 0 || scrollBottom < rows - 1) pen.put(`\x1b[${scrollTop + 1};${scrollBottom + 1}r`);
}

function paintTabs({ tabs }: InnerBuffer, { pen, columns }: { readonly pen: Pen; readonly columns: number }): void {
  const stops = Array.from({ length: columns }, (_, x) => x).filter((x) => tabs[x] === true);
  const usual = Math.ceil(columns / TAB_COLUMNS);
  if (stops.length === usual && stops.every((x, index) => x === index * TAB_COLUMNS)) return;
  pen.put("\x1b[3g");
  for (const x of stops) pen.put(`\x1b[${x + 1}G\x1bH`);
}

function paintCharsets(sets: XtermInternals["charsets"], pen: Pen): void {
  const { glevel } = sets;
  for (const [level, designate] of ["(", ")", "*", "+"].entries()) {
    const name = nameOf(level === glevel ? sets.charset : sets["_charsets"][level]);
    if (name !== undefined) pen.put(`\x1b${designate}${name}`);
  }
  const shift = ["", "\x0e", "\x1bn", "\x1bo"][glevel] ?? "";
  if (shift !== "") pen.put(shift);
}

function nameOf(charset: unknown): string | undefined {
  charsetNames ??= readCharsetNames();
  return charsetNames.get(charset);
}
