import { expect, test } from "vitest";
import { byDay } from "./days.ts";

test("things stand under their days, in the order in which they come", () => {
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
