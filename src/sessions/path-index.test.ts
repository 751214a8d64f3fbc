import { expect, test } from "vitest";
import { createPathIndex } from "./path-index.ts";

const paths = [
  "web/",
  "web/session/",
  "web/session/prompt-box.tsx",
  "web/session/prompt-box.test.ts",
  "docs/prompts.md",
  "src/prompts/index.ts",
  "src/sessions/read.ts",
  "README.md",
  "src/core/ordered-readers.ts",
  "über/Größe.md",
];

function found(query: string, options: { readonly limit?: number; readonly recent?: readonly string[] } = {}) {
  return createPathIndex(paths, new Set(options.recent)).search(query, options.limit ?? 20).paths;
}

test("a match in the name comes before one in its folders, and a whole beginning before a part", () => {
  expect(found("read")).toEqual(["README.md", "src/sessions/read.ts", "src/core/ordered-readers.ts"]);
  expect(found("prompts").slice(0, 2)).toEqual(["docs/prompts.md", "src/prompts/index.ts"]);
  expect(found("session")).toEqual([
    "web/session/",
    "src/sessions/read.ts",
    "web/session/prompt-box.tsx",
    "web/session/prompt-box.test.ts",
  ]);
});

test("letters can be left out, upper and lower case are the same, and a path is typed as it is written", () => {
  expect(found("pbtx")).toEqual(["web/session/prompt-box.tsx"]);
  expect(found("wspb")).toEqual(["web/session/prompt-box.tsx", "web/session/prompt-box.test.ts"]);
  expect(found("readme.MD")).toEqual(["README.md"]);
  expect(found("./web/session/")[0]).toBe("web/session/");
  expect(found("GRÖSSE")).toEqual([]);
  expect(found("größe")).toEqual(["über/Größe.md"]);
  expect(found("zzz")).toEqual([]);
});

test("a recent path comes before shorter ones that match as well", () => {
  expect(found("prompt", { limit: 1 })).toEqual(["docs/prompts.md"]);
  expect(found("prompt", { limit: 1, recent: ["web/session/prompt-box.tsx"] })).toEqual(["web/session/prompt-box.tsx"]);
});

test("without a query, the paths nearest to the directory come first, and all matches are counted", () => {
  expect(found("", { limit: 3 })).toEqual(["web/", "README.md", "web/session/"]);
  expect(createPathIndex(paths).search("", 3).total).toBe(paths.length);
});
