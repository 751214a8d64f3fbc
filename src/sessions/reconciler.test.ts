import { expect, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createReconciler } from "./reconciler.ts";

const deps = { clock: systemClock, log: silentLog };

test("a task that is asked for during its run runs once more, and never beside itself", async () => {
  let runs = 0;
  let beside = 0;
  const reconciler = createReconciler(deps, async () => {
    beside += 1;
    expect(beside).toBe(1);
    runs += 1;
    if (runs === 1) void reconciler.run();
    await systemClock.sleep(1);
    beside -= 1;
  });
  await Promise.all([reconciler.run(), reconciler.run()]);
  expect(runs).toBe(2);
  expect(reconciler.running).toBe(false);
});

test("a task that fails is tried again until it succeeds, or until it is stopped", async () => {
  let tries = 0;
  const reconciler = createReconciler(deps, async () => {
    tries += 1;
    if (tries !== 3) throw new Error("no host");
  });
  await reconciler.runUntilDone();
  expect(tries).toBe(3);
  await expect(reconciler.run()).rejects.toThrow("no host");
  const endless = reconciler.runUntilDone();
  reconciler.stop();
  await endless;
  expect(tries).toBeLessThan(7);
});
