import { expect, test } from "vitest";
import { byDay, dayWords } from "./rows.tsx";

test("rows are grouped by day, in their given order", () => {
  const now = new Date();
  const at = (daysAgo: number): string =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo, 12).toISOString();
  const days = byDay([at(0), at(0), at(1), at(400)], (time) => time);
  expect(days.map(({ day, things }) => [day, things.length])).toEqual([
    ["Today", 2],
    ["Yesterday", 1],
    [expect.stringMatching(/\d{4}/), 1],
  ]);
});

test("recent days have names, even across a change to or from summer time", () => {
  const now = new Date(2026, 2, 29, 12).getTime();
  expect(dayWords(new Date(2026, 2, 29, 0, 1).toISOString(), now)).toBe("Today");
  expect(dayWords(new Date(2026, 2, 28, 23, 59).toISOString(), now)).toBe("Yesterday");
  expect(dayWords(new Date(2026, 2, 1).toISOString(), now)).toMatch(/2026/);
});
