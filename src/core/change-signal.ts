import type { Clock } from "./clock.ts";

/** How long to wait at most. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Notifies waiters of a change. They check what changed themselves. */
export interface ChangeSignal {
  notify(): void;
  /**
   * Resolves with true once `holds()` is true, with false after `timeoutMs` or when the signal is aborted. `holds` is called immediately
   * and after every change.
   */
  until(holds: () => boolean, limits: WaitLimits): Promise<boolean>;
}

export function createChangeSignal(clock: Clock): ChangeSignal {
  const waiters = new Set<() => void>();
  return {
    notify() {
      for (const wake of [...waiters]) wake();
    },
    until(holds, { timeoutMs, signal }) {
      if (holds()) return Promise.resolve(true);
      if (timeoutMs <= 0 || signal?.aborted === true) return Promise.resolve(false);
      return new Promise((resolve) => {
        const finish = (result: boolean): void => {
          waiters.delete(check);
          cancelTimer();
          signal?.removeEventListener("abort", giveUp);
          resolve(result);
        };
        const check = (): void => {
          if (holds()) finish(true);
        };
        const giveUp = (): void => finish(false);
        const cancelTimer = clock.after(timeoutMs, giveUp);
        signal?.addEventListener("abort", giveUp, { once: true });
        waiters.add(check);
      });
    },
  };
}
