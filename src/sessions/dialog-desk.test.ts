import { expect, test } from "vitest";
import type { ScreenDialog } from "../agents/screen-dialog.ts";
import { PosternError } from "../core/errors.ts";
import { DialogDesk } from "./dialog-desk.ts";

/** A terminal with dialogs that are answered one after another. It drops the first `drops` keys, and exits after the dialogs if `ends`. */
function terminal(dialogs: readonly (readonly string[])[], { drops = 0, ends = false } = {}) {
  const taken: string[] = [];
  const keys: string[] = [];
  let at = 0;
  let selected = 0;
  let dropped = 0;
  let beforeWrite = (): void => undefined;
  const current = (): ScreenDialog | null => {
    const labels = dialogs[at];
    if (labels === undefined) return null;
    const [title = "", ...choices] = labels;
    return { title, text: labels.join("\n"), choices: choices.map((label) => ({ label })), selected };
  };
  let now = 0;
  const clock = {
    now: () => now,
    sleep: async (ms: number) => void (now += ms),
    after: () => () => undefined,
  };
  const desk = new DialogDesk({
    terminalId: "t",
    clock,
    host: {
      async look() {
        if (ends && current() === null) throw new PosternError("terminal_gone", "There is no live terminal t.");
        return {
          cols: 80,
          rows: 24,
          title: null,
          offset: at * 100 + selected,
          lines: [JSON.stringify(current())],
          bright: null,
        };
      },
      async writeIfUnchanged(_terminalId, data, { offset }) {
        beforeWrite();
        if (offset !== at * 100 + selected) return false;
        keys.push(String(data));
        if (dropped++ < drops) return true;
        const dialog = current();
        if (dialog === null) return true;
        if (data === "\u001b[B") selected = Math.min(selected + 1, dialog.choices.length - 1);
        if (data === "\u001b[A") selected = Math.max(selected - 1, 0);
        if (data !== "\r") return true;
        taken.push(`${dialog.title} ${dialog.choices[selected]?.label}`);
        at += 1;
        selected = 0;
        return true;
      },
    },
    template: { readDialog: ([line = ""]) => JSON.parse(line) },
  });
  const choose = (title: string, index: number) => desk.press((dialog) => (dialog.title === title ? index : null));
  return {
    desk,
    choose,
    taken,
    keys,
    next: () => void (at += 1),
    onWrite: (task: () => void) => void (beforeWrite = task),
  };
}

const trust = ["Trust?", "No", "Yes, always", "Yes"];
const remove = ["Remove all?", "Yes", "No"];

test("moves to the choice, and presses Enter on it alone", async () => {
  const { choose, taken, keys } = terminal([trust, remove]);
  expect(await choose("Trust?", 2)).toBe(true);
  expect([taken, keys]).toEqual([["Trust? Yes"], ["\u001b[B", "\u001b[B", "\r"]]);
});

test("a choice that ends the agent is taken", async () => {
  const { choose, taken } = terminal([trust], { ends: true });
  expect(await choose("Trust?", 0)).toBe(true);
  expect(taken).toEqual(["Trust? No"]);
});

test("presses again what an agent dropped", async () => {
  const { choose, taken } = terminal([trust], { drops: 2 });
  expect(await choose("Trust?", 1)).toBe(true);
  expect(taken).toEqual(["Trust? Yes, always"]);
});

test("presses nothing into another dialog, and none after the dialog has changed", async () => {
  const other = terminal([remove]);
  expect(await other.choose("Trust?", 0)).toBe(false);
  expect(other.keys).toEqual([]);
  const changing = terminal([trust, remove]);
  let writes = 0;
  changing.onWrite(() => void (++writes === 2 && changing.next()));
  expect(await changing.choose("Trust?", 2)).toBe(false);
  expect(changing.taken).toEqual([]);
});

test("Enter does not reach a dialog that opened after the last look", async () => {
  const { choose, taken, keys, next, onWrite } = terminal([trust, remove]);
  let writes = 0;
  onWrite(() => void (++writes === 3 && next()));
  expect(await choose("Trust?", 2)).toBe(false);
  expect([taken, keys]).toEqual([[], ["\u001b[B", "\u001b[B"]]);
});

test("a choice counts as taken though the session no longer asks when its key was written", async () => {
  const { desk, taken, onWrite } = terminal([trust]);
  let asks = true;
  onWrite(() => {
    asks = false;
  });
  expect(await desk.press(() => (asks ? 0 : null))).toBe(true);
  expect(taken).toEqual(["Trust? No"]);
});

test("the same dialog with another text is another one", async () => {
  const { choose, taken, next, onWrite } = terminal([trust, ["Trust?", "Delete all", "Format", "Yes"]]);
  let writes = 0;
  onWrite(() => void (++writes === 1 && next()));
  expect(await choose("Trust?", 2)).toBe(false);
  expect(taken).toEqual([]);
});

test("two callers are served one after another: the second finds the dialog gone", async () => {
  const { choose, taken } = terminal([trust, remove]);
  expect(await Promise.all([choose("Trust?", 2), choose("Trust?", 0)])).toEqual([true, false]);
  expect(taken).toEqual(["Trust? Yes"]);
});

test("gives up on a dialog that takes no keys", async () => {
  const { choose, keys } = terminal([trust], { drops: 1_000 });
  expect(await choose("Trust?", 0)).toBe(false);
  expect(keys.length).toBe(3);
});
