import { expect, test } from "vitest";
import {
  changeWithoutLines,
  fillGaps,
  isPatchOf,
  linesOfFile,
  linesOfPatch,
  splitRows,
  unifiedRows,
} from "./patch-lines.ts";

const lines = linesOfPatch(`@@ -1,4 +1,5 @@
 one
-two
-three
+2
+3
+3.5
 four
@@ -20,2 +21,1 @@ name
 twenty
-more
@@ -30,0 +31,1 @@
+new
`);
// 0 @@, 1 one, 2 -two, 3 -three, 4 +2, 5 +3, 6 +3.5, 7 four, 8 @@, 9 twenty, 10 -more, 11 @@, 12 +new

test("lines have their numbers on both sides", () => {
  expect(lines.map(({ oldNumber, number }) => [oldNumber, number])).toEqual([
    ...[
      [null, null],
      [1, 1],
      [2, 2],
      [3, 3],
      [null, 2],
      [null, 3],
      [null, 4],
      [4, 5],
    ],
    ...[
      [null, null],
      [20, 21],
      [21, 21],
      [null, null],
      [null, 31],
    ],
  ]);
});

test("side by side, removed lines are next to the added ones that follow them", () => {
  expect(splitRows(lines).map(({ left, right }) => [left, right])).toEqual([
    ...[
      [0, 0],
      [1, 1],
      [2, 4],
      [3, 5],
      [null, 6],
      [7, 7],
      [8, 8],
      [9, 9],
      [10, null],
      [11, 11],
      [null, 12],
    ],
  ]);
  expect(unifiedRows(lines)).toHaveLength(lines.length);
});

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
/** Line 10 replaced, line 50 removed. */
const file = numbered(100).with(9, "ten").toSpliced(49, 1);
const holey = linesOfPatch(`@@ -7,7 +7,7 @@
 line 7
 line 8
 line 9
-line 10
+ten
 line 11
 line 12
 line 13
@@ -47,7 +47,6 @@ title
 line 47
 line 48
 line 49
-line 50
 line 51
 line 52
 line 53
`);
const brief = (lines: ReturnType<typeof fillGaps>) =>
  lines.flatMap(({ gap, text, number, oldNumber }) =>
    gap === undefined ? [`${oldNumber} ${number} ${text}`] : [`gap ${gap.index} ${gap.hidden}`],
  );

test("gaps are before, between and after hunks, and are filled from both ends", () => {
  const gaps = (lines: ReturnType<typeof fillGaps>) => brief(lines).filter((line) => line.startsWith("gap"));
  expect(gaps(fillGaps(holey, null, new Map()))).toEqual(["gap 0 6", "gap 1 33", "gap 2 null"]);
  const some = fillGaps(holey, file, new Map([[1, { head: 20, tail: 5 }]]));
  expect(gaps(some)).toEqual(["gap 0 6", "gap 1 8", "gap 2 47"]);
  const middle = brief(some).indexOf("gap 1 8");
  expect(brief(some)[middle - 1]).toBe("33 33 line 33");
  expect(brief(some)[middle + 1]).toBe("42 42 line 42");
  // Opened, but not loaded yet.
  expect(fillGaps(holey, null, new Map([[0, { head: 20, tail: 0 }]]))).toEqual(fillGaps(holey, null, new Map()));
});

test("with all gaps filled, both sides are whole", () => {
  const all = { head: Number.MAX_SAFE_INTEGER, tail: 0 };
  const lines = fillGaps(holey, file, new Map([0, 1, 2].map((index) => [index, all])));
  const side = (dropped: "added" | "removed") => lines.filter(({ kind }) => kind !== dropped);
  expect(side("removed").map(({ text }) => text)).toEqual(file);
  expect(side("removed").map(({ number }) => number)).toEqual(file.map((_, at) => at + 1));
  expect(side("added").map(({ text }) => text)).toEqual(numbered(100));
  expect(side("added").map(({ oldNumber }) => oldNumber)).toEqual(numbered(100).map((_, at) => at + 1));
});

test("a patch that reaches both ends has no gaps, and a file without its lines is another version", () => {
  const whole = linesOfPatch("@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
  expect(brief(fillGaps(whole, null, new Map()))).toEqual(["1 1 one", "2 2 two", "null 2 2"]);
  expect(isPatchOf(whole, linesOfFile("one\r\n2\r\n"))).toBe(true);
  expect(isPatchOf(whole, linesOfFile("one\n3\n"))).toBe(false);
  expect(isPatchOf(whole, [])).toBe(false);
  expect(brief(fillGaps(linesOfPatch("@@ -1,1 +0,0 @@\n-gone\n"), null, new Map()))).toEqual(["1 1 gone"]);
});

test("a patch without lines says what changed", () => {
  expect(changeWithoutLines("")).toBe("Only whitespace has changed.");
  const mode = "old mode 100644\nnew mode 100755\n";
  expect(changeWithoutLines(`diff --git a/x b/x\n${mode}`)).toBe("Only its mode has changed. Mode 100644 → 100755.");
  expect(changeWithoutLines("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n")).toBe(
    "Renamed, with the same content.",
  );
});
