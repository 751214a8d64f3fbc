import { expect, test } from "vitest";
import { linesOfPatch, splitRows, unifiedRows } from "./patch-lines.ts";

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
