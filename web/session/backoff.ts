/** How long to pause before the next attempt. */
export interface Backoff {
  /** In milliseconds, longer each time. `patiently` begins at a tenth of the way to the longest. */
  next(patiently?: boolean): number;
  /** The next pause is the first again, unless it failed within a moment. */
  succeeded(): void;
}

/** A connection that held for less is no success: a gateway that takes and drops it is not called faster and faster. */
const stableMs = 3_000;

/** Doubling pauses with jitter: between half of a pause and all of it, so that many pages do not come back at one moment. */
export function createBackoff(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  {
    random = Math.random,
    now = () => Date.now(),
  }: { readonly random?: () => number; readonly now?: () => number } = {},
): Backoff {
  let failures = 0;
  let succeededAt: number | null = null;
  return {
    next(patiently = false) {
      if (succeededAt !== null && now() - succeededAt >= stableMs) failures = 0;
      succeededAt = null;
      const pauseMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
      failures += 1;
      const leastMs = patiently ? Math.min(longestMs, Math.max(pauseMs, longestMs / 2)) : pauseMs;
      return Math.round(leastMs * (0.5 + random() / 2));
    },
    succeeded() {
      succeededAt = now();
    },
  };
}
