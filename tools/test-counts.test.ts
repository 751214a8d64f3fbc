import { expect, test } from "vitest";
import { closingLine, mayRunAgain, noCounts as none, sumOf, type TestCounts, withSecondRun } from "./test-counts.ts";

const first: TestCounts = {
  ...none,
  passed: 100,
  failed: 3,
  skipped: 1,
  skippedNames: ["test/e2e/a > skipped"],
  failedNames: ["test/e2e/a > one", "test/e2e/a > two"],
  failedFiles: [{ path: "test/e2e/a", passedNames: ["test/e2e/a > three"], passed: 5, failed: 2, skipped: 1 }],
};

test("what the second run says of a file stands in place of what the first said, and a failure outside it stays", () => {
  const again: TestCounts = {
    ...none,
    passed: 6,
    failed: 1,
    skipped: 1,
    skippedNames: ["test/e2e/a > skipped"],
    failedNames: ["test/e2e/a > two"],
  };
  expect(withSecondRun(first, again)).toMatchObject({
    passed: 101,
    failed: 2,
    skipped: 1,
    skippedNames: ["test/e2e/a > skipped"],
    failedNames: ["test/e2e/a > two"],
    retriedNames: ["test/e2e/a > one"],
  });
});

test("a second run that ran none of a file's tests loses none of its failures in silence", () => {
  const died: TestCounts = { ...none, failed: 1 };
  expect(withSecondRun(first, died).failed).toBe(2);
});

test("what passed the first time and not the second has passed once, as the other way round; what never ran has not", () => {
  const again: TestCounts = {
    ...none,
    passed: 5,
    failed: 2,
    skipped: 1,
    failedNames: ["test/e2e/a > three", "test/e2e/a > new"],
  };
  expect(withSecondRun(first, again)).toMatchObject({
    passed: 101,
    failed: 2,
    failedNames: ["test/e2e/a > new"],
    retriedNames: ["test/e2e/a > three", "test/e2e/a > one", "test/e2e/a > two"],
  });
});

test("a failure in a file that starts no agent stays, whatever the second run says", () => {
  const other = { path: "src/b", passedNames: [], passed: 2, failed: 1, skipped: 0 };
  const both: TestCounts = {
    ...first,
    failed: 4,
    failedNames: ["src/b > one", ...first.failedNames],
    failedFiles: [other, ...first.failedFiles],
  };
  const again: TestCounts = { ...none, passed: 7, skipped: 1, skippedNames: ["test/e2e/a > skipped"] };
  expect(withSecondRun(both, again)).toMatchObject({ passed: 102, failed: 2, failedNames: ["src/b > one"] });
  expect(both.failedFiles.filter(mayRunAgain).map(({ path }) => path)).toEqual(["test/e2e/a"]);
});

test("the sum of two runs counts and names what was in either, and the closing line has the seconds", () => {
  const sum = sumOf(first, { ...none, passed: 4, failed: 1, failedNames: ["src/b > one"], retriedNames: ["c > two"] });
  expect(sum).toMatchObject({ failedNames: [...first.failedNames, "src/b > one"], retriedNames: ["c > two"] });
  expect(closingLine({ ...sum, seconds: 12.4 })).toBe("104 passed, 4 failed, 1 skipped in 12 s");
});
