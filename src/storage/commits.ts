import { StoreFailure } from "./store-failure.ts";

/** Commits writes of concurrent requests together. */
export interface Commits<Writes, Result> {
  /** Resolves when durable. Rejects if this write fails; others are unaffected. */
  add(writes: Writes): Promise<Result>;
}

interface Waiting<Writes, Result> {
  readonly writes: Writes;
  readonly done: (result: Result) => void;
  readonly failed: (reason: unknown) => void;
}

/** Limits a transaction's duration, because it blocks other writers. */
const defaultMaxTogether = 64;

/** A commit takes longer than the writes in it, and SQLite blocks this process meanwhile. Writes that arrive during a commit share the next one. */
export function createCommits<Writes, Result, Within>(deps: {
  readonly begin: (task: (within: Within) => Promise<void>) => Promise<void>;
  readonly apply: (within: Within, writes: Writes) => Promise<Result>;
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
      // Writing each one separately shows which one fails.
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
