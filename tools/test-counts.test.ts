import { expect, test } from "vitest";
import { type TestCounts, withSecondRun } from "./test-counts.ts";

const none: TestCounts = { passed: 0, failed: 0, skipped: 0, skippedNames: [], failedNames: [], failedFiles: [] };
const first: TestCounts = {
  ...none,
  passed: 100,
  failed: 3,
  skipped: 1,
  skippedNames: ["a > skipped"],
  failedNames: ["a > one", "a > two"],
  failedFiles: [{ path: "a", passedNames: ["a > three"], passed: 5, failed: 2, skipped: 1 }],
};

test("what the second run says of a file stands in place of what the first said, and a failure outside it stays", () => {
  const again: TestCounts = {
    ...none,
    passed: 6,
    failed: 1,
    skipped: 1,
    skippedNames: ["a > skipped"],
    failedNames: ["a > two"],
  };
  expect(withSecondRun(first, again)).toMatchObject({
    passed: 101,
    failed: 2,
    skipped: 1,
    skippedNames: ["a > skipped"],
    failedNames: ["a > two"],
  });
});

test("a second run that ran none of a file's tests loses none of its failures in silence", () => {
  const died: TestCounts = { ...none, failed: 1 };
  expect(withSecondRun(first, died).failed).toBe(2);
});

test("what passed the first time and not the second has passed once, as the other way round; what never ran has not", () => {
  const again: TestCounts = { ...none, passed: 5, failed: 2, skipped: 1, failedNames: ["a > three", "a > new"] };
  expect(withSecondRun(first, again)).toMatchObject({ passed: 101, failed: 2, failedNames: ["a > new"] });
});
