import { expect, test } from "vitest";
import type { Turn } from "../../src/wire/turn.ts";
import { keepSent, nothingRecalled, promptHistory, type Recalled, recall } from "./prompt-history.ts";

function storage() {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (index: number) => [...kept.keys()][index] ?? null,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}

function turn(index: number, role: Turn["role"], text: string): Turn {
  return { index, role, text, at: null, endedAt: null, blocks: [], model: null, usage: null };
}

test("the history has the conversation's prompts and those of this browser, newest first and each once", () => {
  const kept = storage();
  keepSent(kept, "s", "queued");
  keepSent(kept, "s", "second ");
  keepSent(kept, "other", "elsewhere");
  const turns = [
    turn(0, "user", "first"),
    turn(1, "assistant", "answer"),
    turn(2, "user", "second"),
    turn(3, "user", "first"),
  ];
  expect(promptHistory(kept, { sessionId: "s", turns })).toEqual(["queued", "first", "second"]);
});

test("storage holds the prompts of the last fifty sessions", () => {
  const kept = storage();
  for (let number = 0; number < 60; number += 1) keepSent(kept, `s${number}`, "text");
  expect(kept.length).toBe(50);
  expect(promptHistory(kept, { sessionId: "s59", turns: [] })).toEqual(["text"]);
});

test("arrow keys go through the history from the first line, and back to the empty box", () => {
  const history = ["newest", "two\nlines", "oldest"];
  let shown: Recalled = nothingRecalled;
  const press = (key: string, text = shown.text, caret = text.length): string | null => {
    const next = recall(history, { recalled: shown, key, text, caret });
    if (next !== null) shown = next;
    return next?.text ?? null;
  };
  expect(press("ArrowDown")).toBeNull();
  expect(press("ArrowUp")).toBe("newest");
  expect(press("ArrowUp")).toBe("two\nlines");
  expect(press("ArrowUp"), "from the second line the caret moves").toBeNull();
  expect(press("ArrowUp", shown.text, 2)).toBe("oldest");
  expect(press("ArrowUp")).toBeNull();
  expect(press("ArrowDown")).toBe("two\nlines");
  expect(press("ArrowUp", "two\nlines, changed", 0), "changed text stays").toBeNull();
  expect(press("ArrowDown")).toBe("newest");
  expect(press("ArrowDown")).toBe("");
});
