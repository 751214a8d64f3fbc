import { expect, test } from "vitest";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { diffOfPatch } from "../session/line-diff.ts";
import { changedParts, markPieces, piecesByLine, placeComments, rangeOf } from "./review-lines.ts";

const lines = diffOfPatch(`@@ -1,4 +1,5 @@
 one
-const two = 2;
-three
+const two = 22;
+3
 four
+five
@@ -20,2 +21,2 @@
 twenty
 more
`);
// 0 @@, 1 one, 2 -two, 3 -three, 4 +two, 5 +3, 6 four, 7 +five, 8 @@, 9 twenty, 10 more

test("a range has the lines of one side that follow one another", () => {
  expect(rangeOf(lines, 4, 4)).toEqual({ side: "new", line: 2, endLine: 2, snippet: "const two = 22;" });
  expect(rangeOf(lines, 1, 7)).toEqual({
    ...{ side: "new", line: 1, endLine: 5 },
    snippet: "one\nconst two = 22;\n3\nfour\nfive",
  });
  expect(rangeOf(lines, 7, 4)).toEqual({ side: "new", line: 2, endLine: 5, snippet: "const two = 22;\n3\nfour\nfive" });
  expect(rangeOf(lines, 3, 2)).toEqual({ side: "old", line: 2, endLine: 3, snippet: "const two = 2;\nthree" });
  expect(rangeOf(lines, 6, 10)).toMatchObject({ line: 4, endLine: 5 });
  expect(rangeOf(lines, 0, 3)).toBeNull();
});

test("comments are placed below their last line, and the others apart", () => {
  const comment = (commentId: string, place: Partial<ReviewComment>): ReviewComment => ({
    ...{ commentId, path: "a", side: "new", line: 1, endLine: 1, outdated: false, body: "", state: "open" },
    ...{ snippet: { before: [], lines: [], after: [] }, author: { kind: "person", sessionId: null } },
    ...{ createdAt: "", updatedAt: "", ...place },
  });
  const { at, others } = placeComments(lines, [
    comment("a", { line: 1, endLine: 3 }),
    comment("b", { side: "old", line: 3, endLine: 3 }),
    comment("c", { line: 3, endLine: 3 }),
    comment("d", { line: 12, endLine: 12 }),
    comment("e", { line: 1, endLine: 1, outdated: true }),
  ]);
  const ids = (list: readonly ReviewComment[] = []) => list.map(({ commentId }) => commentId);
  expect(new Map([...at].map(([index, list]) => [index, ids(list)]))).toEqual(
    new Map([
      [5, ["a", "c"]],
      [3, ["b"]],
    ]),
  );
  expect(ids(others)).toEqual(["d", "e"]);
});

test("the part of a changed line that differs is marked, in the highlighted pieces too", () => {
  const parts = changedParts(lines);
  expect([...parts.keys()]).toEqual([4]);
  const part = parts.get(4);
  expect("const two = 22;".slice(part?.start, part?.end)).toBe("2");
  const pieces = [
    { text: "const", scope: "keyword" },
    { text: " two = 22;", scope: null },
  ];
  expect(markPieces(pieces, part)).toEqual([
    { text: "const", scope: "keyword", changed: false },
    { text: " two = 2", scope: null, changed: false },
    { text: "2", scope: null, changed: true },
    { text: ";", scope: null, changed: false },
  ]);
  expect(
    piecesByLine([
      { text: "a\nb", scope: "comment" },
      { text: "c\n", scope: null },
    ]),
  ).toEqual([
    [{ text: "a", scope: "comment" }],
    [
      { text: "b", scope: "comment" },
      { text: "c", scope: null },
    ],
    [],
  ]);
});
