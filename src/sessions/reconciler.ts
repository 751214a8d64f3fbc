import type { Clock } from "../core/clock.ts";
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
  let wanted = false;
  let running: Promise<void> | null = null;
  let retrying: Promise<void> | null = null;

  function run(): Promise<void> {
    wanted = true;
    running ??= Promise.resolve().then(runWanted);
    return running;
  }

  async function runWanted(): Promise<void> {
    try {
      while (wanted && !signal.aborted) {
        wanted = false;
        await task();
      }
    } finally {
      running = null; // here, so that nothing asked for after the last look is taken for part of this run
    }
  }

  async function retry(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (wanted && !signal.aborted) {
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
      return running !== null;
    },
    stop: () => stopping.abort(),
  };
}
