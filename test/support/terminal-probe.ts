import type { Page } from "playwright-core";
import { z } from "zod";

/**
 * Run in a page before its own code: keeps hold of each terminal that xterm makes there. Nothing in the application gives them away, so
 * this waits for the one field that each terminal sets as it is made.
 */
const catchTerminals = `
  window.posternTestTerminals = [];
  Object.defineProperty(Object.prototype, "_core", {
    configurable: true,
    set(value) {
      Object.defineProperty(this, "_core", { value, writable: true, configurable: true });
      if (typeof this.open === "function" && typeof this.write === "function") window.posternTestTerminals.push(this);
    },
  });
`;

/** What the newest terminal that is on the page shows: size, cursor and each cell with its colours and attributes. */
const readTerminal = `(() => {
  const terminal = window.posternTestTerminals.findLast((one) => one.element?.isConnected);
  if (terminal === undefined) return null;
  const buffer = terminal.buffer.active;
  const lines = [];
  const cells = [];
  const flags = ["isBold", "isItalic", "isDim", "isUnderline", "isBlink", "isInverse", "isInvisible", "isStrikethrough", "isOverline"];
  for (let row = 0; row < buffer.length; row += 1) {
    const line = buffer.getLine(row);
    lines.push(line.translateToString(true));
    let text = line.isWrapped ? "wrapped " : "";
    for (let column = 0; column < terminal.cols; column += 1) {
      const cell = line.getCell(column);
      const look = [cell.getFgColorMode(), cell.getFgColor(), cell.getBgColorMode(), cell.getBgColor(), flags.map((flag) => (cell[flag]() ? 1 : 0)).join("")];
      const blank = cell.getChars() === "" || cell.getChars() === " ";
      text += (blank ? " " : cell.getChars()) + cell.getWidth() + "/" + look.join(",") + " ";
    }
    cells.push(text);
  }
  return {
    cols: terminal.cols,
    rows: terminal.rows,
    type: buffer.type,
    cursor: { x: buffer.cursorX, y: buffer.cursorY },
    lines,
    cells,
  };
})()`;

const shownTerminalSchema = z.object({
  cols: z.int(),
  rows: z.int(),
  type: z.enum(["normal", "alternate"]),
  cursor: z.object({ x: z.int(), y: z.int() }),
  /** With the scrollback, oldest first; blanks at the ends are cut. */
  lines: z.array(z.string()),
  /** Each line's cells, with all that can be seen of them. */
  cells: z.array(z.string()),
});

/** The content of a terminal in a page. */
export type ShownTerminal = z.infer<typeof shownTerminalSchema>;

/** Before the page is opened. */
export async function watchTerminals(page: Page): Promise<void> {
  await page.addInitScript(catchTerminals);
}

/** Null while no terminal is on the page. @see watchTerminals */
export async function shownTerminal(page: Page): Promise<ShownTerminal | null> {
  return shownTerminalSchema.nullable().parse(await page.evaluate(readTerminal));
}

/** The text of {@link shownTerminal}, one line under another. */
export async function terminalText(page: Page): Promise<string> {
  return (await shownTerminal(page))?.lines.join("\n") ?? "";
}

/** The visible part, which a viewer that came late must show as well. */
export function screenOf({ cols, rows, type, cursor, cells }: ShownTerminal): unknown {
  return { cols, rows, type, cursor, cells: cells.slice(-rows) };
}
