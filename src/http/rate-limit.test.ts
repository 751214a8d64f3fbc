import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createRateLimiter } from "./route-limits.ts";

const limit = { windowMs: 60_000, max: 3 };

/** Counts one call of `key`. @returns the milliseconds to wait when it is over the limit, else null */
function tryOnce(limiter: ReturnType<typeof createRateLimiter>, key: string): unknown {
  try {
    limiter.check(key, limit);
    limiter.count(key, limit);
    return null;
  } catch (error) {
    return error;
  }
}

test("a limit applies per key and window, then starts again", async () => {
  const clock = createFakeClock();
  const limiter = createRateLimiter({ clock });
  for (let at = 0; at < 3; at += 1) expect(tryOnce(limiter, "a")).toBe(null);
  await clock.advance(20_000);
  expect(tryOnce(limiter, "a")).toMatchObject({ code: "rate_limited", details: { retryAfterMs: 40_000 } });
  expect(tryOnce(limiter, "b")).toBe(null);
  await clock.advance(39_999);
  expect(tryOnce(limiter, "a")).toMatchObject({
    code: "rate_limited",
    message: expect.stringContaining("in 1 seconds"),
  });
  await clock.advance(1);
  expect(tryOnce(limiter, "a")).toBe(null);
});

test("counters are bounded: those whose window is over are dropped first, then the oldest", async () => {
  const clock = createFakeClock();
  const limiter = createRateLimiter({ clock, max: 100 });
  for (let at = 0; at < 3; at += 1) tryOnce(limiter, "first");
  for (let at = 0; at < 3; at += 1) tryOnce(limiter, "last");
  for (let at = 0; at < 98; at += 1) tryOnce(limiter, `other ${at}`);
  expect(tryOnce(limiter, "first")).not.toBe(null);
  expect(tryOnce(limiter, "one more")).toBe(null);
  expect(tryOnce(limiter, "first")).toBe(null); // its counter was dropped, and this call drops the next oldest, `last`
  expect(tryOnce(limiter, "last")).toBe(null);
});
