import type { CellStyle, Pen } from "./pen.ts";
import { BG, COLOR, type InnerBuffer, type InnerLine } from "./xterm-internals.ts";

/** A blank two columns wide. When it is overwritten, it leaves cells that erasing cannot produce. */
const WIDE = "\u3000";

/** Writes the lines of `buffer`, starting with `first`, to an empty screen from the top left, with the same cells and line wraps. */
export function paintRows(
  buffer: InnerBuffer,
  { first, pen, columns }: { readonly first: number; readonly pen: Pen; readonly columns: number },
): void {
  const last = first === buffer.ybase ? lastUsedLine(buffer, columns) : buffer.lines.length - 1;
  for (let y = first; y <= last; y++) {
    const line = buffer.lines.get(y);
    if (line === undefined) continue;
    const next = y < last ? buffer.lines.get(y + 1) : undefined;
    paintRow(line, { pen, columns, wraps: next?.isWrapped === true });
    if (next === undefined) continue;
    if (next.isWrapped) {
      paintWrap(line, { next, pen, columns });
    } else {
      if (pen.fills()) pen.plain(); // a line that scrolls in would have the fill color
      pen.put("\r\n");
    }
  }
}

/** The character that ends before column `end`, and the column where it begins; undefined when there is none. */
export function characterBefore(
  line: InnerLine | undefined,
  end: number,
): { readonly x: number; readonly characters: string; readonly style: CellStyle } | undefined {
  if (line === undefined || end < 1) return undefined;
  const x = line.getWidth(end - 1) === 0 && end > 1 ? end - 2 : end - 1;
  if (line.hasContent(x) === 0 || x + line.getWidth(x) !== end) return undefined;
  return { x, characters: line.getString(x), style: styleAt(line, x) };
}

function lastUsedLine({ lines, ybase }: InnerBuffer, columns: number): number {
  for (let y = lines.length - 1; y > ybase; y--) {
    const line = lines.get(y);
    if (line !== undefined && (line.isWrapped || usedCells(line, columns) > 0)) return y;
  }
  return ybase;
}

/** A line of the alternate screen keeps cells beyond the last column after the terminal was made narrower. */
function usedCells(line: InnerLine, columns: number): number {
  let used = Math.min(columns, line.length);
  while (used > 0 && line.hasContent(used - 1) === 0 && line.getFg(used - 1) === 0 && line.getBg(used - 1) === 0)
    used--;
  return used;
}

function styleAt(line: InnerLine, x: number): CellStyle {
  const bg = line.getBg(x);
  return { fg: line.getFg(x), bg, extended: (bg & BG.extended) === 0 ? undefined : line["_extendedAttrs"][x] };
}

function isErased(line: InnerLine, x: number): boolean {
  return line.hasContent(x) === 0 && line.getWidth(x) !== 0;
}

/** Whether erasing produces this cell. */
function isPlainlyErased(line: InnerLine, x: number): boolean {
  return isErased(line, x) && line.getFg(x) === 0 && (line.getBg(x) & ~COLOR.mask) === 0;
}

function paintRow(
  line: InnerLine,
  { pen, columns, wraps }: { readonly pen: Pen; readonly columns: number; readonly wraps: boolean },
): void {
  const edge = columns - 1;
  let end = usedCells(line, columns);
  if (end === columns && isErased(line, edge)) {
    if (wraps)
      end = edge; // wrapping leaves this cell behind
    else if (!isPlainlyErased(line, edge)) {
      paintErasedAtEdge(line, { pen, columns });
      end = edge;
    }
  }
  let skipped = 0;
  for (let x = 0; x < end; ) {
    if (isPlainlyErased(line, x)) {
      const from = x;
      const bg = line.getBg(x);
      while (x < end && isPlainlyErased(line, x) && line.getBg(x) === bg) x++;
      if (bg !== 0) {
        skipped = move(pen, skipped);
        pen.style({ fg: 0, bg, extended: undefined });
        pen.put(`\x1b[${x - from}X`);
      }
      skipped += x - from;
      continue;
    }
    skipped = move(pen, skipped);
    if (isErased(line, x)) {
      paintErased(line, { x, pen });
      x++;
      continue;
    }
    const bg = line.getBg(x);
    const extended = (bg & BG.extended) === 0 ? undefined : line["_extendedAttrs"][x];
    if (!pen.writesIn(line.getFg(x), bg, extended)) pen.style({ fg: line.getFg(x), bg, extended });
    const width = Math.max(1, line.getWidth(x));
    pen.print(x + width > columns ? " " : line.getString(x) || " "); // a resize may leave half a character at the edge
    x += width;
  }
}

function move(pen: Pen, columns: number): 0 {
  if (columns > 0) pen.put(`\x1b[${columns}C`);
  return 0;
}

/** An empty cell with the style of a character, as half of an overwritten wide character leaves it. */
function paintErased(line: InnerLine, { x, pen }: { readonly x: number; readonly pen: Pen }): void {
  pen.style(styleAt(line, x));
  pen.put(`${WIDE}\x1b[${x + 2}Gx\x1b[${x + 2}G`);
  pen.plain();
  pen.put("\x1b[X");
}

/** The same in the last column: the cell is made one column before it, then moved there. */
function paintErasedAtEdge(line: InnerLine, { pen, columns }: { readonly pen: Pen; readonly columns: number }): void {
  pen.style(styleAt(line, columns - 1));
  pen.put(`\x1b[${columns - 1}G${WIDE}\x1b[${columns}Gx\x1b[${columns - 1}G\x1b[@`);
  pen.plain();
  pen.put("\x1b[X\r");
}

/** Makes `next` a wrapped line by printing its first character, or a character that is then erased. */
function paintWrap(
  line: InnerLine,
  { next, pen, columns }: { readonly next: InnerLine; readonly pen: Pen; readonly columns: number },
): void {
  const edge = columns - 1;
  const erased = isErased(line, edge);
  const colorless = (next.getBg(0) & COLOR.mask) === 0; // otherwise a line that scrolls in would have that color
  const beginsAtEdge = isErased(next, edge) && !isPlainlyErased(next, edge); // with the cursor in its own line
  if (next.hasContent(0) !== 0 && colorless && !beginsAtEdge) {
    if (!erased) return;
    if (next.getWidth(0) === 2 && isSameStyle(styleAt(line, edge), styleAt(next, 0))) {
      pen.put(`\x1b[${columns}G`);
      return;
    }
  }
  if (erased) {
    pen.put(`\x1b[${columns}G`);
    pen.style(styleAt(line, edge));
    pen.put(`${WIDE}\r`);
  } else {
    pen.plain();
    pen.put("x\r");
  }
  pen.plain();
  pen.put(`\x1b[${columns}X`);
}

function isSameStyle(one: CellStyle, other: CellStyle): boolean {
  return one.fg === other.fg && one.bg === other.bg && one.extended === other.extended;
}
