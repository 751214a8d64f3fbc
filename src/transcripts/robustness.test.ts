import { describe, expect, test } from "vitest";
import { checkGrowth, checkReading, readOnce } from "../../test/support/transcript-checks.ts";
import { fixtures } from "../../test/support/transcript-fuzz.ts";

// The same with many more runs: test/long/transcript-fuzz.long.test.ts.
describe.each(["claude", "codex", "gemini"] as const)("a transcript of %s", (format) => {
  test("read in random pieces while it grows gives the same as read at once", async () => {
    await checkGrowth(format, { numRuns: 150 });
  });

  test("with bytes changed at random is read to the end, whatever they say now", async () => {
    await checkReading(format, { of: "mutated", numRuns: 300 });
  });

  test("of lines that only look like the agent's is read to the end", async () => {
    await checkReading(format, { of: "made up", numRuns: 300 });
  });
});

test("a file of the other agent is read without an exception", async () => {
  for (const { bytes, format } of fixtures) {
    const read = await readOnce(bytes, format === "claude" ? "codex" : "claude");
    expect(read.summary.skippedLines).toBe(0);
  }
});
