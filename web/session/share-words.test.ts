import { expect, test } from "vitest";
import { countedTimes, expiryWords } from "./share-words.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

test.each([
  [7 * 86_400_000 - 5_000, "Expires in 7 days"],
  [86_400_000, "Expires in 1 day"],
  [3_600_000 * 5, "Expires in 5 hours"],
  [20_000, "Expires in 1 minute"],
  [0, "Expired"],
])("a link with %i ms left: %s", (leftMs, words) => {
  expect(expiryWords(new Date(now + leftMs).toISOString(), now)).toBe(words);
});

test("opens are counted in words", () => {
  expect([0, 1, 2].map(countedTimes)).toEqual(["never opened", "opened once", "opened 2 times"]);
});
