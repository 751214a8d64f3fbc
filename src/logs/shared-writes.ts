import { type Commits, createCommits } from "../storage/commits.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";

/** So many entries are written together at most: an entry takes milliseconds, and with SQLite nothing else goes on meanwhile. */
const maxTogether = 16;

/** Runs a task in a transaction that writes for an account, others' tasks before and after it. It may run twice: the first time for nothing. */
export type SharedWrite = <T>(accountId: string, task: (tx: LogsDatabase) => Promise<T>) => Promise<T>;

/**
 * Most of what an entry costs is to make it durable, and entries share most of the pages that they write: those that come at the same time
 * go into one transaction. PostgreSQL lets accounts write beside each other, so there each has its own; there are at most 1,000 of them.
 */
export function createSharedWrites(on: LogsDatabase): SharedWrite {
  type Task = (tx: LogsDatabase) => Promise<() => void>;
  const all = new Map<string, Commits<Task, () => void>>();

  function commitsOf(accountId: string): Commits<Task, () => void> {
    const whose = on.dialect === "sqlite" ? "" : accountId;
    const known = all.get(whose);
    if (known !== undefined) return known;
    const commits = createCommits<Task, () => void, LogsDatabase>({
      begin: (task) => writeFor(on, accountId, task),
      apply: (tx, task) => task(tx),
      maxTogether,
    });
    all.set(whose, commits);
    return commits;
  }

  return async (accountId, task) => {
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof task>>>();
    const settle = await commitsOf(accountId).add(async (tx) => {
      const result = await task(tx);
      return () => resolve(result);
    });
    settle();
    return promise;
  };
}
