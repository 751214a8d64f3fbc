import headlessModule, { type IBufferCell } from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../core/clock.ts";
import { unpooled } from "../../core/unpooled.ts";
import { createClippedView } from "./clipped-view.ts";

// The addon reads its table from offset 0 of the underlying ArrayBuffer, which is wrong for a pooled buffer.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
type Terminal = headlessModule.Terminal;

function terminalOf(cols: number, rows: number): Terminal {
  const terminal = new headlessModule.Terminal({ cols, rows, scrollback: 0, allowProposedApi: true });
  terminal.loadAddon(new graphemesModule.UnicodeGraphemesAddon());
  return terminal;
}

const written = (terminal: Terminal, text: string): Promise<void> => new Promise((done) => terminal.write(text, done));

function look(cell: IBufferCell | undefined): string {
  if (cell === undefined) return "nothing";
  const attributes = [
    cell.isBold(),
    cell.isDim(),
    cell.isItalic(),
    cell.isUnderline(),
    cell.isInverse(),
    cell.isStrikethrough(),
  ].map((on) => (on ? 1 : 0));
  return `${cell.getChars() || " "}|${attributes.join("")}|${cell.getFgColorMode()}:${cell.getFgColor()}|${cell.getBgColorMode()}:${cell.getBgColor()}`;
}

const blank = " |000000|0:-1|0:-1";

/** The part of a session's screen that a window must show at (left, top). */
function cropped(session: Terminal, window: { left: number; top: number; cols: number; rows: number }): string[] {
  const buffer = session.buffer.active;
  return Array.from({ length: Math.min(window.rows, session.rows - window.top) }, (_, row) => {
    const line = buffer.getLine(buffer.baseY + window.top + row);
    return Array.from({ length: window.cols }, (_unused, column) => {
      const at = window.left + column;
      const cell = line?.getCell(at);
      if (cell === undefined || at >= session.cols) return blank;
      const isCut = (cell.getWidth() === 0 && column === 0) || (cell.getWidth() === 2 && column === window.cols - 1);
      return isCut ? look(cell).replace(/^[^|]*/, " ") : look(cell);
    }).join("\n");
  });
}

function shownIn(user: Terminal, rows: number): string[] {
  const buffer = user.buffer.active;
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: user.cols }, (_unused, column) =>
      look(buffer.getLine(buffer.baseY + row)?.getCell(column)),
    ).join("\n"),
  );
}

const piece = fc.oneof(
  fc.constantFrom("text ", "漢字", "😀", "é", "\r\n", "\t", "👩‍👩‍👧"),
  fc.constantFrom(
    "\x1b[1;31m",
    "\x1b[97;104m",
    "\x1b[0m",
    "\x1b[48;5;200m",
    "\x1b[38;2;1;2;3m",
    "\x1b[7m",
    "\x1b[3;4;9m",
    "\x1b[2m",
  ),
  fc
    .tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 30 }))
    .map(([row, column]) => `\x1b[${row};${column}H`),
  fc.constantFrom("\x1b[K", "\x1b[2J", "\x1b[1J", "\x1b[2L", "\x1b[3P", "\x1b[?1049h", "\x1b[?1049l"),
);
const size = fc.record({ cols: fc.integer({ min: 2, max: 40 }), rows: fc.integer({ min: 1, max: 18 }) });

test("a window of any size shows the part of a session's screen around the cursor, cell by cell", async () => {
  await fc.assert(
    fc.asyncProperty(
      size,
      size,
      fc.array(fc.array(piece, { maxLength: 12 }), { minLength: 1, maxLength: 2 }),
      async (of, windowSize, outputs) => {
        const session = terminalOf(of.cols, of.rows);
        const user = terminalOf(windowSize.cols, windowSize.rows);
        let painting = Promise.withResolvers<void>();
        const view = createClippedView(
          {
            clock: { ...systemClock, after: (_ms, call) => systemClock.after(1, call) },
            window: () => windowSize,
            paint: (text) => user.write(text, () => painting.resolve()),
          },
          { size: of, firstPaintMs: 10_000 },
        );
        let left = 0;
        let top = 0;
        await painting.promise;
        for (const output of outputs.map((parts) => parts.join(""))) {
          painting = Promise.withResolvers<void>();
          view.write(output, () => undefined);
          await written(session, output);
          await painting.promise;
          const { cursorX, cursorY } = session.buffer.active;
          left = Math.max(0, Math.min(left, cursorX), cursorX - windowSize.cols + 1);
          top = Math.max(0, Math.min(top, cursorY), cursorY - windowSize.rows + 1);
          const wanted = cropped(session, { left, top, ...windowSize });
          expect(shownIn(user, wanted.length)).toEqual(wanted);
          expect([user.buffer.active.cursorX, user.buffer.active.cursorY]).toEqual([cursorX - left, cursorY - top]);
        }
        view.close();
        session.dispose();
        user.dispose();
      },
    ),
    { numRuns: 40 },
  );
});
