import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { longFiles } from "./long-files.ts";
import { placeEvenly, together } from "./spread-evenly.ts";

test("files stand where the middle of their time is, the longest first", () => {
  const seconds: Readonly<Record<string, number>> = { short: 10, long: 50, middle: 40 };
  expect(placeEvenly(Object.keys(seconds), (name) => seconds[name] ?? 0)).toEqual([
    { it: "long", place: 0.25 },
    { it: "middle", place: 0.7 },
    { it: "short", place: 0.95 },
  ]);
});

test("files that share a process stand together, and change places with others only now and then", () => {
  const seconds: Readonly<Record<string, number>> = { a: 50, b: 40, c: 10, d: 5, e: 5 };
  const secondsOf = (name: string): number => seconds[name] ?? 0;
  const placed = together(placeEvenly(Object.keys(seconds), secondsOf), secondsOf, 60);
  expect(placed.map(({ it }) => it)).toEqual(["a", "b", "c", "d", "e"]);
  const [a = 0, b, c = 0, d, e] = placed.map(({ place }) => place);
  expect([b, d, e]).toEqual([a, c, c]);
  expect(a).toBeLessThan(c);
});

test("every file that is known to be long is there", () => {
  const root = resolve(import.meta.dirname, "../..");
  expect(Object.keys(longFiles).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
