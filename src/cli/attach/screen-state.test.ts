import headlessModule from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTerminalFilter } from "../../core/terminal-filter.ts";
import { createScreenState } from "./screen-state.ts";

const modes = [
  1, 5, 6, 7, 9, 12, 25, 45, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1047, 1048, 1049, 2004, 2026,
];
const change = fc.oneof(
  fc
    .tuple(fc.subarray(modes, { minLength: 1, maxLength: 4 }), fc.constantFrom("h", "l"))
    .map(([some, on]) => `\x1b[?${some.join(";")}${on}`),
  fc.constantFrom(
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[20h",
    "\x1b[4;20h",
    "\x1b=",
    "\x1b>",
    "\x1b[5 q",
    "\x1b[q",
    "\x1b[0 q",
    "\x1b[!p",
    "\x1bc",
  ),
  fc.constantFrom(
    "\x1b[3;9r",
    "\x1b[1;31;44m",
    "\x1b(0",
    "\x0e",
    "\x1b]8;;https://example.invalid/\x07",
    "\x1b7",
    "\x1b8",
    "text\r\n",
  ),
);

interface Shown {
  readonly terminal: headlessModule.Terminal;
  readonly cursor: { hidden: boolean; style: number };
}

function newTerminal(): Shown {
  const terminal = new headlessModule.Terminal({ cols: 30, rows: 10, allowProposedApi: true });
  const cursor = { hidden: false, style: 0 };
  const watch = (hidden: boolean) => (params: (number | number[])[]) => {
    if (params.includes(25)) cursor.hidden = hidden;
    return false;
  };
  terminal.parser.registerCsiHandler({ prefix: "?", final: "l" }, watch(true));
  terminal.parser.registerCsiHandler({ prefix: "?", final: "h" }, watch(false));
  terminal.parser.registerEscHandler({ final: "c" }, () => {
    cursor.hidden = false;
    cursor.style = 0;
    return false;
  });
  terminal.parser.registerCsiHandler({ intermediates: "!", final: "p" }, () => {
    cursor.hidden = false;
    return false;
  });
  terminal.parser.registerCsiHandler({ intermediates: " ", final: "q" }, ([style]) => {
    cursor.style = typeof style === "number" ? style : 0;
    return false;
  });
  return { terminal, cursor };
}

const written = (terminal: headlessModule.Terminal, text: string): Promise<void> =>
  new Promise((done) => terminal.write(text, done));

/** All terminal state that affects the output of the next command. */
async function met({ terminal, cursor }: Shown): Promise<unknown> {
  await written(terminal, "\x1b[H\x1b[Jq\x1b[9;1H1\n2\n3\n");
  const { active } = terminal.buffer;
  const cell = active.getLine(active.baseY - 3)?.getCell(0) ?? active.getLine(active.baseY)?.getCell(0);
  const rows = Array.from({ length: 10 }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true));
  const facts = [terminal.modes, cursor, active.type, cell?.isFgDefault(), cell?.isBgDefault(), cell?.isBold(), rows];
  terminal.dispose();
  return facts;
}

test("the reset restores every state that a program has set in the user's terminal", async () => {
  const untouched = await met(newTerminal());
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 15 }), async (changes) => {
      const filter = createTerminalFilter();
      const state = createScreenState();
      const shown = newTerminal();
      for (const text of changes.map((some) => filter.write(some))) {
        state.note(text);
        await written(shown.terminal, text);
      }
      expect(state.alternate).toBe(shown.terminal.buffer.active.type === "alternate");
      expect(state.cursorHidden).toBe(shown.cursor.hidden);
      await written(shown.terminal, state.reset());
      expect(await met(shown)).toEqual(untouched);
    }),
    { numRuns: 50 },
  );
});
