import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { longFiles } from "./long-files.ts";
import { placeEvenly } from "./spread-evenly.ts";

test("files stand where the middle of their time is, the longest first", () => {
  const seconds: Readonly<Record<string, number>> = { short: 10, long: 50, middle: 40 };
  expect(placeEvenly(Object.keys(seconds), (name) => seconds[name] ?? 0)).toEqual([
    { it: "long", place: 0.25 },
    { it: "middle", place: 0.7 },
    { it: "short", place: 0.95 },
  ]);
});

test("every file that is known to be long is there", () => {
  const root = resolve(import.meta.dirname, "../..");
  expect(Object.keys(longFiles).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
