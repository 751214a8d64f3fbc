import { test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { checkMadeUp, checkRecorded, expectSameFrom, recordedNames } from "../../test/support/terminal-fidelity.ts";

// The same with many more runs: test/long/terminal-fidelity.long.test.ts.
for (const name of recordedNames) {
  test(`a viewer that attaches late to ${name} has the same terminal as one from the start`, {
    timeout: 60_000,
  }, async () => {
    await checkRecorded(name, { points: 8, numRuns: 1, seed: suiteSeed });
  });
}

test("a viewer that attaches anywhere in any output has the same terminal as one that saw all of it", {
  timeout: 60_000,
}, () => {
  checkMadeUp({ numRuns: 150, timeLimitMs: 4_000, seed: suiteSeed });
});

test("a cursor saved on the first visible row moves down with it when the terminal grows", () => {
  const events = ["\r\n\x1b7\r\n", "\x1b[H\r\n"].map((text) => Buffer.from(text));
  expectSameFrom([6], { size: { cols: 8, rows: 2 }, events: [...events, { cols: 8, rows: 3 }] });
});

test("a character that can no longer be combined or repeated cannot be after a late attach either", () => {
  for (const after of ["\x1b[b", "\u0301", "🏽"]) {
    const events = [Buffer.from(`1234567ก็\x1b7${after} `)];
    expectSameFrom([15], { size: { cols: 8, rows: 2 }, events });
  }
});
