import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { furtherTests } from "./further-tests.ts";

test("every further test is there, once", () => {
  const root = resolve(import.meta.dirname, "../..");
  expect(furtherTests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(new Set(furtherTests).size).toBe(furtherTests.length);
});
