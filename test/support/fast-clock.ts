import { type Clock, systemClock } from "../../src/core/clock.ts";

/** Ten seconds of waiting pass in one. */
export function createFastClock(): Clock {
  let ahead = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    sleep: async (delayMs, signal) => {
      ahead += delayMs * 0.9;
      await systemClock.sleep(delayMs * 0.1, signal);
    },
  };
}
