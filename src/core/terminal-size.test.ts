import { expect, test } from "vitest";
import { clampSize } from "./terminal-size.ts";

test("a size is clamped to what a terminal can have", () => {
  expect(clampSize({ cols: 0, rows: 0 })).toEqual({ cols: 2, rows: 1 });
  expect(clampSize({ cols: 5_000, rows: 5_000 })).toEqual({ cols: 1_000, rows: 500 });
  expect(clampSize({ cols: 80, rows: 24 })).toEqual({ cols: 80, rows: 24 });
  expect(clampSize({ cols: 80.9, rows: 24.9 })).toEqual({ cols: 80, rows: 24 });
});
