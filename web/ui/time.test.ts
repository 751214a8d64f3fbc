import { expect, test } from "vitest";
import { ago, exactTime, timeWords } from "./time.tsx";

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
])("%d ms ago is shown as %s", (passedMs, words) => {
  expect(ago(new Date(now - passedMs).toISOString(), now)).toBe(words);
});

test("an old time has its date, and its year if it is not this year", () => {
  expect(ago("2026-06-01T12:00:00Z", now)).not.toContain("2026");
  expect(ago("2024-06-01T12:00:00Z", now)).toContain("2024");
});

test("a turn of another day has its date, and of another year its year", () => {
  expect(timeWords(new Date(now - 1_000).toISOString(), now)).toMatch(/^\d{2}:\d{2}/);
  expect(timeWords("2026-06-01T12:00:00Z", now)).toMatch(/Jun/);
  expect(timeWords("2026-06-01T12:00:00Z", now)).not.toContain("2026");
  expect(timeWords("2024-06-01T12:00:00Z", now)).toMatch(/Jun.*2024/);
  expect(timeWords("soon", now)).toBe("soon");
});

test("an invalid time is not converted", () => {
  expect(ago("soon", now)).toBe("");
  expect(exactTime("soon")).toBe("soon");
});
