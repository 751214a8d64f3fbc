import { expect, test } from "vitest";
import type { CompletionItem } from "../../src/wire/completion.ts";
import { complete, stillMatching, wordAt } from "./completion-word.ts";

const file = (label: string): CompletionItem => ({ insert: `@${label}`, label, detail: "", kind: "file" });

test.each([
  ["/", { kind: "command", from: 0, q: "" }],
  ["/comp", { kind: "command", from: 0, q: "comp" }],
  ["/compact now", null],
  ["/usr/bin", null],
  ["see /comp", null],
  ["@", { kind: "file", from: 0, q: "" }],
  ["read @src/a", { kind: "file", from: 5, q: "src/a" }],
  ["read\n(@src", { kind: "file", from: 6, q: "src" }],
  ["me@example.org", null],
  ["@src done", null],
  ["use $rev", { kind: "skill", from: 4, q: "rev" }],
  ["costs $5", null],
  ["$", null],
  [`@${"x".repeat(300)}`, null],
])("the word at the end of %j", (text, word) => {
  expect(wordAt(text, text.length)).toEqual(word);
});

test("only what is before the caret counts", () => {
  expect(wordAt("look at @src/main.ts", 12)).toEqual({ kind: "file", from: 8, q: "src" });
  expect(wordAt("look at @src", 4)).toBeNull();
});

test("a chosen item replaces the word, and typing continues behind a blank or in a folder", () => {
  const word = { kind: "file", from: 5, q: "re" } as const;
  expect(complete("read @re now", { word, caret: 8, item: file("README.md") })).toEqual({
    text: "read @README.md now",
    caret: 15,
  });
  expect(complete("read @re", { word, caret: 8, item: file("README.md") })).toEqual({
    text: "read @README.md ",
    caret: 16,
  });
  expect(complete("read @re", { word, caret: 8, item: { ...file("src/"), kind: "folder" } })).toEqual({
    text: "read @src/",
    caret: 10,
  });
});

test("of an earlier answer, what no longer matches is not shown", () => {
  const items = [file("src/read.ts"), file("README.md"), { ...file("x"), detail: "Reads a file" }];
  expect(stillMatching(items, "reads").map(({ label }) => label)).toEqual(["src/read.ts", "x"]);
});
