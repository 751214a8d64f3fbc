import { expect, test } from "vitest";
import { createEventIds, firstIdAt, isEventId, originId } from "./event-id.ts";

test("ids are valid and increase, within a millisecond and when the clock goes back", () => {
  const next = createEventIds(originId);
  const times = [1_763_700_000_000, 1_763_700_000_000, 1_763_700_000_001, 1_763_600_000_000, 1_763_700_000_001, 5];
  const ids = times.map((at) => next(at));
  expect(ids.every(isEventId)).toBe(true);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
});

test("ids are larger than the newest of an earlier run, even if its clock was ahead", () => {
  const ahead = createEventIds(originId)(1_900_000_000_000);
  const next = createEventIds(ahead);
  const first = next(1_763_700_000_000);
  expect(first > ahead).toBe(true);
  expect(next(1_763_700_000_000) > first).toBe(true);
});

test("an id carries into its time when its random digits overflow", () => {
  const next = createEventIds(`${"0".repeat(9)}1${"Z".repeat(16)}`);
  expect(next(0)).toBe(`${"0".repeat(9)}2${"0".repeat(16)}`);
});

test("two stores that start at the same time make different ids", () => {
  expect(createEventIds(originId)(1_000)).not.toBe(createEventIds(originId)(1_000));
});

test("the first id of a time sorts between earlier ids and those of that time", () => {
  const next = createEventIds(originId);
  const before = next(999);
  const within = next(1_000);
  expect(before < firstIdAt(1_000)).toBe(true);
  expect(within > firstIdAt(1_000)).toBe(true);
});
