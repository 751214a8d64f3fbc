import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { checkGrowth, checkReading } from "../support/transcript-checks.ts";

/** Each of the six rounds takes this long. */
const timeLimitMs = Number(process.env["POSTERN_FUZZ_MS"] ?? 60_000);
const seed = Number(process.env["POSTERN_FUZZ_SEED"] ?? Date.now() & 0x7fffffff);
const effort = { numRuns: 1_000_000, timeLimitMs, seed };

function heapMb(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

describe.each(["claude", "codex"] as const)(`a transcript of %s, seed ${seed}`, (format) => {
  test("read in random pieces while it grows gives the same as read at once", async () => {
    await checkGrowth(format, effort);
  });

  test("with bytes changed at random is read to the end, whatever they say now", async () => {
    await checkReading(format, { of: "mutated", ...effort });
  });

  test("of lines that only look like the agent's is read to the end, and leaves nothing in memory", async () => {
    await checkReading(format, { of: "made up", ...effort, timeLimitMs: timeLimitMs / 4 });
    const before = heapMb();
    await checkReading(format, { of: "made up", ...effort });
    expect(heapMb() - before).toBeLessThan(40);
  });
});
