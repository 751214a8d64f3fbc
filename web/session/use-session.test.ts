import { describe, expect, it } from "vitest";
import type { Turn } from "../../src/wire/turn.ts";
import { hasOlder, noTurns, withTurns } from "./use-session.ts";

function turn(index: number, text = `turn ${index}`): Turn {
  const role = index % 2 === 0 ? "user" : "assistant";
  return { index, role, at: null, endedAt: null, text, blocks: [{ type: "text", text }], model: null, usage: null };
}

const turns = (from: number, to: number): Turn[] => Array.from({ length: to - from }, (_, at) => turn(from + at));

describe("the turns of a page", () => {
  it("grow at the end, and an unfinished one is replaced", () => {
    const begun = withTurns(noTurns, { turns: turns(0, 2), nextAfter: 0 });
    const grown = withTurns(begun, { turns: [turn(1, "more"), turn(2)], nextAfter: 2 });
    expect(grown.turns.map(({ text }) => text)).toEqual(["turn 0", "more", "turn 2"]);
    expect(grown.nextAfter).toBe(2);
  });

  it("keep the same objects where nothing changed, to avoid rendering again", () => {
    const begun = withTurns(noTurns, { turns: turns(0, 4), nextAfter: 3 });
    expect(withTurns(begun, { turns: turns(2, 4), nextAfter: 3 })).toBe(begun);
    const grown = withTurns(begun, { turns: [turn(3, "more")], nextAfter: 3 });
    expect(grown.turns[0]).toBe(begun.turns[0]);
  });

  it("grow at the front when older ones are loaded", () => {
    const begun = withTurns(noTurns, { turns: turns(10, 12), nextAfter: 11 });
    expect(hasOlder(begun)).toBe(true);
    const older = withTurns(begun, { turns: turns(0, 10), nextAfter: 9 });
    expect(older.turns.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(older.nextAfter).toBe(11);
    expect(hasOlder(older)).toBe(false);
  });

  it("are replaced after a gap, and never contain one", () => {
    const begun = withTurns(noTurns, { turns: turns(10, 12), nextAfter: 11 });
    expect(withTurns(begun, { turns: turns(20, 22), nextAfter: 21 }).turns.map(({ index }) => index)).toEqual([20, 21]);
    expect(withTurns(begun, { turns: turns(0, 3), nextAfter: 2 })).toBe(begun);
  });
});
