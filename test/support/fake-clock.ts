import type { Clock } from "../../src/core/clock.ts";

/** A clock that the test advances. */
export interface FakeClock extends Clock {
  /** Advances the clock by this much. Calls what becomes due, in order, and waits for what those calls start. */
  advance(ms: number): Promise<void>;
  /** When the next timer is due; null if there is none. */
  readonly nextAt: number | null;
}

/** A {@link FakeClock} that begins at `startMs`. */
export function createFakeClock(startMs = Date.parse("2025-01-01T00:00:00Z")): FakeClock {
  let now = startMs;
  const timers = new Map<object, { readonly at: number; readonly call: () => void }>();

  function after(delayMs: number, call: () => void): () => void {
    const key = {};
    timers.set(key, { at: now + delayMs, call });
    return () => void timers.delete(key);
  }

  function next(): readonly [object, { readonly at: number; readonly call: () => void }] | null {
    return [...timers].toSorted(([, a], [, b]) => a.at - b.at)[0] ?? null;
  }

  return {
    now: () => now,
    after,
    sleep: (delayMs, signal) =>
      new Promise((resolve, reject) => {
        const cancel = after(delayMs, resolve);
        signal?.addEventListener("abort", () => {
          cancel();
          reject(signal.reason);
        });
      }),
    async advance(ms) {
      const end = now + ms;
      for (let due = next(); due !== null && due[1].at <= end; due = next()) {
        timers.delete(due[0]);
        now = Math.max(now, due[1].at);
        due[1].call();
        await new Promise((turn) => setImmediate(turn));
      }
      now = end;
    },
    get nextAt() {
      return next()?.[1].at ?? null;
    },
  };
}
