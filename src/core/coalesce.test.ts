import { expect, test } from "vitest";
import { oneAtATime } from "./coalesce.ts";

test("calls during a run make one more run, and none overlap", async () => {
  let running = 0;
  let runs = 0;
  const run = oneAtATime(async () => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    runs += 1;
  });
  const first = run();
  await new Promise((resolve) => setTimeout(resolve, 1));
  await Promise.all([first, run(), run(), run()]);
  expect(runs).toBe(2);
  await run();
  expect(runs).toBe(3);
});

test("a run that fails rejects, and the next call runs again", async () => {
  let runs = 0;
  const run = oneAtATime(async () => {
    if (++runs === 1) throw new Error("no");
  });
  await expect(run()).rejects.toThrow("no");
  await run();
  expect(runs).toBe(2);
});
