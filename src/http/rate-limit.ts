import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";

/** So many within a window of time. */
export interface RateLimit {
  readonly windowMs: number;
  readonly max: number;
}

/** Counts what happens within windows of time, in memory: a restart forgets it. */
export interface RateLimiter {
  /** @throws PosternError `rate_limited` when `key` has used up its window */
  check(key: string, limit: RateLimit): void;
  /** Counts one, also beyond the limit. */
  count(key: string, limit: RateLimit): void;
}

/** Counters that are kept at the same time; the one that was begun first goes. */
const maxCounters = 20_000;
/** Looked at for each new one while there are so many: no flood of addresses costs more than that. */
const expiredAtOnce = 50;

interface Counter {
  readonly endsAt: number;
  readonly counted: number;
}

export function createRateLimiter(deps: { readonly clock: Pick<Clock, "now">; readonly max?: number }): RateLimiter {
  const { clock, max = maxCounters } = deps;
  /** In the order in which their windows began. */
  const counters = new Map<string, Counter>();

  function current(key: string): Counter | undefined {
    const counter = counters.get(key);
    if (counter !== undefined && counter.endsAt > clock.now()) return counter;
    counters.delete(key);
    return undefined;
  }

  function makeRoom(): void {
    if (counters.size < max) return;
    let seen = 0;
    for (const [key, { endsAt }] of counters) {
      seen += 1;
      if (seen > expiredAtOnce) break;
      if (seen === 1 || endsAt <= clock.now()) counters.delete(key);
    }
  }

  return {
    check(key, limit) {
      const counter = current(key);
      if (counter === undefined || counter.counted < limit.max) return;
      const retryAfterMs = counter.endsAt - clock.now();
      const seconds = Math.ceil(retryAfterMs / 1_000);
      throw new PosternError("rate_limited", `Too many requests of this kind. Try again in ${seconds} seconds.`, {
        details: { retryAfterMs },
      });
    },
    count(key, { windowMs }) {
      const counter = current(key);
      if (counter === undefined) makeRoom();
      const endsAt = counter?.endsAt ?? clock.now() + windowMs;
      counters.set(key, { endsAt, counted: (counter?.counted ?? 0) + 1 });
    },
  };
}
