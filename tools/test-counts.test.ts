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

test("the second run of a file replaces the first, and a failure in another file stays", () => {
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

test("a second run without any of a file's tests keeps its failures", () => {
  const died: TestCounts = { ...none, failed: 1 };
  expect(withSecondRun(first, died).failed).toBe(2);
});

test("a test that passed in either run has passed once; one that never ran has not", () => {
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

test("a failure in a file that starts no agent stays", () => {
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
  expect(mayRunAgain({ path: "test/web/a.test.ts" })).toBe(true);
  expect(mayRunAgain({ path: "test/gateway/a.test.ts" })).toBe(false);
});

test("the sum of two runs has the counts and names of both, and the closing line has the seconds", () => {
  const sum = sumOf(first, { ...none, passed: 4, failed: 1, failedNames: ["src/b > one"], retriedNames: ["c > two"] });
  expect(sum).toMatchObject({ failedNames: [...first.failedNames, "src/b > one"], retriedNames: ["c > two"] });
  expect(closingLine({ ...sum, seconds: 12.4 })).toBe("104 passed, 4 failed, 1 skipped in 12 s");
});
