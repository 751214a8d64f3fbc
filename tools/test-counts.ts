import { readFileSync, writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { z } from "zod";

/** How a run ended. A file that could not be loaded and an error outside any test count as a failure each. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Full names, so that nothing is skipped in silence. */
  readonly skippedNames: readonly string[];
  /** Full names, in the order of their files. */
  readonly failedNames: readonly string[];
  /** Full names of those that passed in one of two runs and failed in the other. */
  readonly retriedNames: readonly string[];
  /** The files that hold them, by their paths in the project, with the tests of each that passed and that were skipped. */
  readonly failedFiles: readonly FailedFile[];
}

/** A file of tests that did not all pass. */
export interface FailedFile {
  readonly path: string;
  /** Full names of its tests that passed. */
  readonly passedNames: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The variable with the reporter's output file. */
export const countsFileVariable = "POSTERN_TEST_COUNTS_FILE";

const countsSchema = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  skippedNames: z.array(z.string()),
  failedNames: z.array(z.string()),
  retriedNames: z.array(z.string()),
  failedFiles: z.array(
    z.object({
      path: z.string(),
      passedNames: z.array(z.string()),
      passed: z.number(),
      failed: z.number(),
      skipped: z.number(),
    }),
  ),
});

/** What the reporter wrote; null when the run did not get to its end. */
export function readCounts(path: string): TestCounts | null {
  try {
    return countsSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return null; // the caller counts this as a failure
  }
}

/** Of no test. */
export const noCounts: TestCounts = {
  ...{ passed: 0, failed: 0, skipped: 0 },
  ...{ skippedNames: [], failedNames: [], retriedNames: [], failedFiles: [] },
};

/** The counts of several runs, of which no two ran the same test. */
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

/** Only these start programs of others, which can be late on a busy machine: any other test that fails has failed. */
export function mayRunAgain({ path }: Pick<FailedFile, "path">): boolean {
  return path.startsWith("test/e2e/");
}

/** Tests that failed in the second run of their file alone: in the first they passed. */
function failedOnlyThen(first: TestCounts, again: TestCounts): readonly string[] {
  const passed = new Set(first.failedFiles.flatMap(({ passedNames }) => passedNames));
  return again.failedNames.filter((name) => passed.has(name));
}

/**
 * The counts of a run some of whose files were run again: what `again` says of them in place of what `first` said. What passed in either
 * run has passed.
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

/** Counts tests over all projects and writes them where {@link countsFileVariable} says. */
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
