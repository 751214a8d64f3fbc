import { describe, test } from "vitest";
import { checkMadeUp, checkRecorded, recordedNames } from "../support/terminal-fidelity.ts";

/** Made-up output takes this long, each recorded session a fourth of it. */
const timeLimitMs = Number(process.env["POSTERN_FUZZ_MS"] ?? 60_000);
const seed = Number(process.env["POSTERN_FUZZ_SEED"] ?? Date.now() & 0x7fffffff);
const effort = { numRuns: 1_000_000, timeLimitMs, seed };

describe(`a terminal that is attached to late, seed ${seed}`, () => {
  test("is that of who saw all of it, whatever the output was", { timeout: timeLimitMs + 600_000 }, () => {
    checkMadeUp(effort);
  });

  for (const name of recordedNames) {
    test(`is that of who saw all of ${name}`, { timeout: timeLimitMs + 600_000 }, async () => {
      await checkRecorded(name, { points: 8, ...effort, timeLimitMs: timeLimitMs / 4 });
    });
  }
});
