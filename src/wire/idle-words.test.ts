import { expect, test } from "vitest";
import { idleEndWords } from "./idle-words.ts";

test.each([
  [12 * 3_600_000 + 59_000, "ended after 12 hours idle"],
  [3_600_000, "ended after 1 hour idle"],
  [90 * 60_000, "ended after 1 hour idle"],
  [45 * 60_000, "ended after 45 minutes idle"],
  [47 * 3_600_000, "ended after 47 hours idle"],
  [3 * 86_400_000, "ended after 3 days idle"],
  [3_100, "ended after 3 seconds idle"],
])("%i ms: %s", (idleMs, words) => {
  expect(idleEndWords(idleMs)).toBe(words);
});
