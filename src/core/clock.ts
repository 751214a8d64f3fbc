/** The only source of time, so that tests can control it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `callback` once after `delayMs`. Returns an idempotent function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** Resolves after `delayMs`. Rejects with the signal's reason if aborted first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The system clock. A pending `after` never keeps the process alive; a pending `sleep` does. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  sleep(delayMs, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, delayMs);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};

/** ISO 8601 in UTC, the format of all times in the API. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
