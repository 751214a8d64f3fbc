import { StoreFailure } from "./store-failure.ts";

/** Writes of requests that are under way at the same time, made durable together. */
export interface Commits<Writes, Result> {
  /** Resolves when it is durable. Rejects when it cannot be written; the others are not touched by that. */
  add(writes: Writes): Promise<Result>;
}

interface Waiting<Writes, Result> {
  readonly writes: Writes;
  readonly done: (result: Result) => void;
  readonly failed: (reason: unknown) => void;
}

/** A transaction keeps other writers waiting. */
const defaultMaxTogether = 64;

/**
 * To make one transaction durable costs more than all the work in it, and with SQLite this process does nothing else meanwhile. So
 * whatever comes while one is under way waits and goes into the next one, together.
 */
export function createCommits<Writes, Result, Within>(deps: {
  readonly begin: (task: (within: Within) => Promise<void>) => Promise<void>;
  readonly apply: (within: Within, writes: Writes) => Promise<Result>;
  /** So many go into one transaction at most. */
  readonly maxTogether?: number;
}): Commits<Writes, Result> {
  const { begin, apply, maxTogether = defaultMaxTogether } = deps;
  const waiting: Waiting<Writes, Result>[] = [];
  let busy = false;

  async function together(batch: readonly Waiting<Writes, Result>[]): Promise<void> {
    const results: Result[] = [];
    try {
      await begin(async (within) => {
        for (const { writes } of batch) results.push(await apply(within, writes));
      });
    } catch (error) {
      const [first, ...others] = batch;
      if (first === undefined) return;
      if (others.length === 0 || error instanceof StoreFailure) {
        for (const one of batch) one.failed(error);
        return;
      }
      // One of them is at fault; which one shows when each is written alone.
      for (const one of batch) await together([one]);
      return;
    }
    for (const [index, result] of results.entries()) batch[index]?.done(result);
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) await together(waiting.splice(0, maxTogether));
    busy = false;
  }

  return {
    add(writes) {
      return new Promise((done, failed) => {
        waiting.push({ writes, done, failed });
        if (busy) return;
        busy = true;
        setImmediate(() => void work());
      });
    },
  };
}
