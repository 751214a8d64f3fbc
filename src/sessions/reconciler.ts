import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { Log } from "../core/log.ts";

/** Runs one task at a time, as often as it is needed. */
export interface Reconciler {
  /** Runs the task; what is asked for during a run makes it run once more. Rejects as the task does. */
  run(): Promise<void>;
  /** The same, again and again until the task succeeds or the reconciler is stopped. */
  runUntilDone(): Promise<void>;
  readonly running: boolean;
  stop(): void;
}

// The terminal host client itself gives a new host some seconds to start.
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** A {@link Reconciler} of this task. */
export function createReconciler(
  deps: { readonly clock: Clock; readonly log: Log },
  task: () => Promise<void>,
): Reconciler {
  const stopping = new AbortController();
  const { signal } = stopping;
  let waiting = 0;
  let wanted = false;
  let retrying: Promise<void> | null = null;

  const runOnce = oneAtATime(async () => {
    if (!signal.aborted) await task();
  });

  async function run(): Promise<void> {
    waiting += 1;
    try {
      await runOnce();
    } finally {
      waiting -= 1;
    }
  }

  async function retry(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (wanted && !signal.aborted) {
      wanted = false;
      try {
        await run();
      } catch (error) {
        if (signal.aborted) return;
        deps.log.warn({ error, pauseMs }, "cannot take up what the terminal host knows; trying again");
        wanted = true;
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  }

  async function pause(ms: number): Promise<void> {
    try {
      await deps.clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  return {
    run,
    runUntilDone() {
      wanted = true;
      retrying ??= retry().finally(() => {
        retrying = null;
      });
      return retrying;
    },
    get running() {
      return waiting > 0;
    },
    stop: () => stopping.abort(),
  };
}
