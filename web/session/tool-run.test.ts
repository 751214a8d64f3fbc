import { expect, test } from "vitest";
import type { Block } from "../../src/wire/turn.ts";
import { runsOf, runWords } from "./tool-run.tsx";
import { elapsedWords } from "./working.tsx";

const call = (id: number, name = "Read"): Extract<Block, { type: "tool_call" }> => ({
  type: "tool_call",
  id: String(id),
  name,
  input: name === "Bash" ? { command: "ls" } : { file_path: "a" },
  result: null,
});
const text: Block = { type: "text", text: "words" };
const thinking: Block = { type: "thinking", text: " " };

test("six calls in a row are one run, fewer are not, and empty thinking is not between them", () => {
  const many = [1, 2, 3].map((id) => call(id));
  const more = [4, 5, 6].map((id) => call(id));
  expect(runsOf([text, ...many, thinking, ...more, text]).map(({ length }) => length)).toEqual([1, 6, 1]);
  expect(runsOf([...many, text, ...more]).map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect(runsOf([])).toEqual([]);
});

test("a run is named by what it consists of, most frequent first", () => {
  expect(runWords([call(1, "Bash"), call(2), call(3), call(4, "Grep"), call(5, "Grep"), call(6, "Grep")])).toBe(
    "3 searches, 2 reads, 1 command",
  );
});

test.each([
  [-5, ""],
  [42_000, "42 s"],
  [185_000, "3 min 05 s"],
  [4_800_000, "1 h 20 min"],
])("%i ms are %s", (ms, words) => {
  expect(elapsedWords(ms)).toBe(words);
});
