import fc from "fast-check";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { checkOracle, checkSight, corpora, createWorld } from "../../test/support/log-oracle.ts";
import { openTestLogs } from "../../test/support/logs.ts";

/** Random corpora with random deletions; each run has another seed, which is printed on failure. */
const runs = 1_000;

describeOnBothStores("the oracle", (openStore) => {
  test(`${runs} corpora: after any deletions a store is as one that never had the entries`, async () => {
    const [first, second] = [await openStore(), await openStore()];
    const one = await createWorld(first, await openTestLogs(first));
    const other = await createWorld(second, await openTestLogs(second));
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(corpora, async (corpus) => {
        await checkOracle(one, other, corpus);
        checked += 1;
      }),
      { numRuns: runs },
    );
    expect(checked).toBe(runs);
  });

  test(`${runs} corpora: a caller limited to a folder sees what a store with only that folder shows`, async () => {
    const [first, second] = [await openStore(), await openStore()];
    const one = await createWorld(first, await openTestLogs(first));
    const other = await createWorld(second, await openTestLogs(second));
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(corpora, async (corpus) => {
        await checkSight(one, other, corpus);
        checked += 1;
      }),
      { numRuns: runs },
    );
    expect(checked).toBe(runs);
  });
});
