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

test("the further run starts after a run that fails, and every waiting call gets the error", async () => {
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const mayFail = Promise.withResolvers<void>();
  const run = oneAtATime(async () => {
    if (++runs > 1) return;
    begun.resolve();
    await mayFail.promise;
    throw new Error("no");
  });
  const first = run();
  await begun.promise;
  const second = run();
  mayFail.resolve();
  await Promise.all([first, second].map((call) => expect(call).rejects.toThrow("no")));
  expect(runs).toBe(2);
});
