import { expect, test } from "vitest";
import { createKeySequence, sequenceMs } from "./key-sequence.ts";

function open() {
  let nowMs = 0;
  const sequence = createKeySequence(() => nowMs);
  return { sequence, press: (key: string) => sequence.press({}, key), pass: (ms: number) => (nowMs += ms) };
}

test("the second key of a sequence never acts alone, wherever it is handled", () => {
  const { sequence, press } = open();
  sequence.register([{ keys: "g a" }, { keys: "n" }]);
  sequence.register([{ keys: "a" }, { keys: "d" }]);
  expect(press("a")).toMatchObject({ keys: "a", isSecond: false });
  expect(press("g")).toMatchObject({ keys: "g", isSecond: false });
  expect(press("a")).toMatchObject({ keys: "g a", isSecond: true });
  expect(press("a")).toMatchObject({ keys: "a", isSecond: false });
  press("g");
  expect(press("d"), "also if there is no such sequence").toMatchObject({ keys: "g d", isSecond: true });
  expect(press("d")).toMatchObject({ keys: "d", isSecond: false });
});

test("every listener of one press gets the same answer, and a late second key is a key of its own", () => {
  const { sequence, press, pass } = open();
  const forget = sequence.register([{ keys: "g a" }]);
  const event = {};
  press("g");
  expect(sequence.press(event, "a")).toEqual(sequence.press(event, "a"));
  press("g");
  pass(sequenceMs + 1);
  expect(press("a")).toMatchObject({ keys: "a", isSecond: false });
  forget();
  press("g");
  expect(press("a")).toMatchObject({ keys: "a", isSecond: false });
});
