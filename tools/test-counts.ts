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
}

/** The variable that tells the reporter where to write. */
export const countsFileVariable = "POSTERN_TEST_COUNTS_FILE";

const countsSchema = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  skippedNames: z.array(z.string()),
});

/** What the reporter wrote; null when the run did not get to its end. */
export function readCounts(path: string): TestCounts | null {
  try {
    return countsSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return null; // the caller counts this as a failure
  }
}

/** The line that ends every test run. */
export function closingLine({ passed, failed, skipped }: Omit<TestCounts, "skippedNames">): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Counts tests over all projects and writes them where {@link countsFileVariable} says. */
export class TestCountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const path = process.env[countsFileVariable];
    if (path === undefined) return;
    let passed = 0;
    let failed = unhandledErrors.length;
    const skippedNames: string[] = [];
    for (const module of modules) {
      let failedHere = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed++;
        else if (state === "failed") failedHere++;
        else skippedNames.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
      // A hook or an import failed: no test of the file shows it.
      if (failedHere === 0 && module.state() === "failed") failedHere = 1;
      failed += failedHere;
    }
    writeFileSync(path, JSON.stringify({ passed, failed, skipped: skippedNames.length, skippedNames }));
  }
}

// eslint-disable-next-line import/no-default-export -- vitest takes a reporter file by its default export
export default TestCountsReporter;
