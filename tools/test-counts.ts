import { readFileSync, writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { z } from "zod";

/** The variable with the reporter's output file. */
export const countsFileVariable = "POSTERN_TEST_COUNTS_FILE";

const counts = { passed: z.number(), failed: z.number(), skipped: z.number() };
const namesSchema = z.array(z.string()).readonly();

/** A file with a failed test: its path in the project, and the full names of its tests that passed. */
const failedFileSchema = z.object({ path: z.string(), passedNames: namesSchema, ...counts }).readonly();
export type FailedFile = z.infer<typeof failedFileSchema>;

const countsSchema = z
  .object({
    ...counts,
    skippedNames: namesSchema,
    /** In the order of their files. */
    failedNames: namesSchema,
    /** Tests that passed in one of two runs and failed in the other. */
    retriedNames: namesSchema,
    failedFiles: z.array(failedFileSchema).readonly(),
  })
  .readonly();

/** How a run ended, with the tests' full names. A file that could not be loaded and an error outside any test count as a failure each. */
export type TestCounts = z.infer<typeof countsSchema>;

/** The reporter's output; null if the run did not finish. */
export function readCounts(path: string): TestCounts | null {
  try {
    return countsSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return null; // the caller counts this as a failure
  }
}

export const noCounts: TestCounts = {
  ...{ passed: 0, failed: 0, skipped: 0 },
  ...{ skippedNames: [], failedNames: [], retriedNames: [], failedFiles: [] },
};

/** The counts of several runs, with different tests. */
export function sumOf(...runs: readonly TestCounts[]): TestCounts {
  return runs.reduce(
    (sum, run) => ({
      passed: sum.passed + run.passed,
      failed: sum.failed + run.failed,
      skipped: sum.skipped + run.skipped,
      skippedNames: [...sum.skippedNames, ...run.skippedNames],
      failedNames: [...sum.failedNames, ...run.failedNames],
      retriedNames: [...sum.retriedNames, ...run.retriedNames],
      failedFiles: [...sum.failedFiles, ...run.failedFiles],
    }),
    noCounts,
  );
}

/** The line that ends every test run. */
export function closingLine(
  run: Pick<TestCounts, "passed" | "failed" | "skipped"> & { readonly seconds: number },
): string {
  return `${run.passed} passed, ${run.failed} failed, ${run.skipped} skipped in ${Math.round(run.seconds)} s`;
}

/** Only these start agents or Chromium, which can be slow on a busy machine. Any other failure counts. */
export function mayRunAgain({ path }: Pick<FailedFile, "path">): boolean {
  return path.startsWith("test/e2e/") || path.startsWith("test/web/");
}

/** Tests that failed only in the second run of their file. */
function failedOnlyThen(first: TestCounts, again: TestCounts): readonly string[] {
  const passed = new Set(first.failedFiles.flatMap(({ passedNames }) => passedNames));
  return again.failedNames.filter((name) => passed.has(name));
}

/**
 * The counts of a run with files that ran again: `again` replaces the counts of `first` for these. A test passes if it passed in either
 * run.
 */
export function withSecondRun(first: TestCounts, again: TestCounts): TestCounts {
  const late = failedOnlyThen(first, again);
  const [twice, once] = [first.failedFiles.filter(mayRunAgain), first.failedFiles.filter((file) => !mayRunAgain(file))];
  const failedOnce = first.failedNames.filter((name) => once.some(({ path }) => name.startsWith(`${path} > `)));
  const firstOfTwice = first.failedNames.filter((name) => twice.some(({ path }) => name.startsWith(`${path} > `)));
  const sum = (count: "passed" | "failed" | "skipped"): number =>
    first[count] + again[count] - twice.reduce((total, file) => total + file[count], 0);
  return {
    ...again,
    passed: sum("passed") + late.length,
    failed: sum("failed") - late.length,
    skipped: sum("skipped"),
    failedNames: [...failedOnce, ...again.failedNames.filter((name) => !late.includes(name))],
    retriedNames: [...late, ...firstOfTwice.filter((name) => !again.failedNames.includes(name))],
    failedFiles: [...once, ...again.failedFiles],
    skippedNames: [...new Set([...first.skippedNames, ...again.skippedNames])],
  };
}

/** Counts tests of all projects and writes them to the file in {@link countsFileVariable}. */
export class TestCountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const path = process.env[countsFileVariable];
    if (path === undefined) return;
    const total = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const skippedNames: string[] = [];
    const failedNames: string[] = [];
    const failedFiles: FailedFile[] = [];
    for (const module of modules) {
      const here = { passed: 0, failed: 0, skipped: 0 };
      const passedNames: string[] = [];
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        const name = `${module.relativeModuleId} > ${test.fullName}`;
        if (state === "passed") {
          here.passed++;
          passedNames.push(name);
        } else if (state === "failed") {
          here.failed++;
          failedNames.push(name);
        } else {
          here.skipped++;
          skippedNames.push(name);
        }
      }
      // A hook or an import failed: no test of the file shows it.
      if (here.failed === 0 && module.state() === "failed") here.failed = 1;
      if (here.failed > 0) failedFiles.push({ path: module.relativeModuleId, passedNames, ...here });
      total.passed += here.passed;
      total.failed += here.failed;
      total.skipped += here.skipped;
    }
    writeFileSync(path, JSON.stringify({ ...total, skippedNames, failedNames, retriedNames: [], failedFiles }));
  }
}

// eslint-disable-next-line import/no-default-export -- vitest takes a reporter file by its default export
export default TestCountsReporter;
