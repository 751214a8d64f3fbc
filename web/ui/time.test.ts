import { expect, test } from "vitest";
import { ago, exactTime } from "./time.ts";

const now = Date.parse("2026-06-15T12:00:00Z");

test.each([
  [0, "now"],
  [59_000, "now"],
  [-5_000, "now"],
  [60_000, "1 min ago"],
  [59 * 60_000, "59 min ago"],
  [3_600_000, "1 h ago"],
  [23.9 * 3_600_000, "23 h ago"],
  [24 * 3_600_000, "1 d ago"],
  [6.9 * 86_400_000, "6 d ago"],
])("after %d ms it says %s", (passedMs, words) => {
  expect(ago(new Date(now - passedMs).toISOString(), now)).toBe(words);
});

test("what was long ago has its date, and its year when it is another one", () => {
  expect(ago("2026-06-01T12:00:00Z", now)).not.toContain("2026");
  expect(ago("2024-06-01T12:00:00Z", now)).toContain("2024");
});

test("what is no time is not made one", () => {
  expect(ago("soon", now)).toBe("");
  expect(exactTime("soon")).toBe("soon");
});
