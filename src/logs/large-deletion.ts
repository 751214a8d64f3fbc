import { performance } from "node:perf_hooks";
import { setImmediate as nextTask } from "node:timers/promises";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Erasure } from "../storage/erasure.ts";
import { removeLogs } from "./delete-logs.ts";
import { type LogsDatabase, type RemovedRows, writeFor, writeLaterFor } from "./logs-database.ts";
import {
  countRemoved,
  type DeletionPlan,
  decideDeletion,
  decidedDeletions,
  dropUndecided,
  type EndedDeletion,
  endDeletion,
  type MarkedDeletion,
  markEntries,
  markedAmong,
  markedEntries,
  planDeletion,
} from "./marked-entries.ts";

/** Entries that are marked by one statement: some milliseconds. */
const marksAtOnce = 1_000;
/**
 * Entries that one transaction removes: as many as it can in about so long. On SQLite all that writes waits for it, on PostgreSQL only what
 * is remembered for the same account, and each statement is a journey to the server.
 */
const batches = { sqlite: { ms: 20, least: 1 }, postgres: { ms: 100, least: 4 } } as const;
const firstBatch = 4;
const maxBatch = 256;

/** What {@link createLargeDeletions} needs. */
export interface LargeDeletionDeps extends LogsDatabase {
  readonly clock: Clock;
  readonly erasure: Pick<Erasure, "prepare" | "relieve">;
  /** Called within the transaction that ends a deletion. */
  readonly atEnd: (tx: LogsDatabase, ended: EndedDeletion) => Promise<void>;
}

/** Which entries of an account: those of which one of these is true, of a query of `log_entries`. */
export type EntryParts = readonly RawBuilder<SqlBool>[];

/** Deletions of many entries: one moment decides, then they are removed in short transactions, between which others write. */
export interface LargeDeletions {
  /** @param beforeDecided called with the entries while they still stand */
  run(
    asked: { readonly accountId: string; readonly plan: DeletionPlan; readonly parts: EntryParts },
    beforeDecided?: (logIds: readonly string[]) => Promise<void>,
  ): Promise<RemovedRows>;
  /** Resumes those that an earlier process decided. */
  resume(): Promise<void>;
  /** Idempotent. What is not removed yet is removed at the next start. */
  close(): Promise<void>;
}

/** @see LargeDeletions */
export function createLargeDeletions(deps: LargeDeletionDeps): LargeDeletions {
  const { clock, erasure, atEnd } = deps;
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  async function mark(deletion: MarkedDeletion, parts: EntryParts): Promise<readonly string[]> {
    const logIds: string[] = [];
    for (const where of parts) {
      let page: readonly EntryPlace[] = [];
      do {
        page = await entriesBehind(deps, { accountId: deletion.accountId, where, after: page.at(-1) ?? null });
        const ids = page.map(({ log_id }) => log_id);
        await markEntries(deps, deletion, ids);
        logIds.push(...ids);
        await nextTask();
      } while (page.length === marksAtOnce);
    }
    return logIds;
  }

  /** @returns null when none is left; else how long the others' writes waited for it */
  async function removeSome(deletion: MarkedDeletion, limit: number): Promise<number | null> {
    const { accountId } = deletion;
    return writeLaterFor(deps, accountId, async (tx) => {
      const began = performance.now();
      const logIds = await markedEntries(tx, deletion, limit);
      if (logIds.length === 0) return null;
      const removed = await removeLogs(tx, { accountId, logIds, at: clock.now() });
      await countRemoved(tx, deletion, { logIds, removed });
      await erasure.prepare(tx.db);
      return performance.now() - began;
    });
  }

  /** @returns what it took; zeros for one that another process ended */
  async function removeAll(deletion: MarkedDeletion): Promise<RemovedRows> {
    const { ms, least } = batches[deps.dialect];
    let limit: number = firstBatch;
    for (;;) {
      if (closed) {
        throw new PosternError("store_unavailable", "The gateway is stopping. The rest is deleted when it starts.");
      }
      const tookMs = await removeSome(deletion, limit);
      if (tookMs === null) break;
      if (tookMs > ms) limit = Math.max(least, Math.floor(limit / 2));
      else if (tookMs < ms / 2) limit = Math.min(maxBatch, limit * 2);
      await erasure.relieve();
      await nextTask();
    }
    return writeFor(deps, deletion.accountId, async (tx) => {
      const ended = await endDeletion(tx, deletion);
      if (ended === null) return { logs: 0, episodes: 0, statements: 0, entities: 0, facts: 0 };
      await atEnd(tx, ended);
      return ended.removed;
    });
  }

  function tracked<T>(task: Promise<T>): Promise<T> {
    underWay.add(task);
    const over = (): void => void underWay.delete(task);
    task.then(over, over);
    return task;
  }

  return {
    async run({ accountId, plan, parts }, beforeDecided) {
      const deletion = await planDeletion(deps, { accountId, plan, at: clock.now() });
      try {
        const logIds = await mark(deletion, parts);
        await beforeDecided?.(logIds);
        await decideDeletion(deps, deletion);
      } catch (error) {
        // A store that does not answer keeps the marks, which mean nothing, until a later start.
        await dropUndecided(deps, deletion).catch(() => undefined);
        throw error;
      }
      return tracked(removeAll(deletion));
    },
    async resume() {
      for (const deletion of await decidedDeletions(deps, clock.now())) await tracked(removeAll(deletion));
    },
    async close() {
      closed = true;
      await Promise.allSettled(underWay);
    },
  };
}

/** Where an entry is in the order of a list. */
interface EntryPlace {
  readonly log_id: string;
  readonly observed_at: number;
}

async function entriesBehind(
  { db }: LogsDatabase,
  {
    accountId,
    where,
    after,
  }: { readonly accountId: string; readonly where: RawBuilder<SqlBool>; readonly after: EntryPlace | null },
): Promise<readonly EntryPlace[]> {
  return db
    .selectFrom("log_entries")
    .select(["log_id", "observed_at"])
    .where("account_id", "=", accountId)
    .where(where)
    .$if(after !== null, (query) =>
      query.where(sql<boolean>`(observed_at, log_id) > (cast(${after?.observed_at} as bigint), ${after?.log_id})`),
    )
    .orderBy("observed_at")
    .orderBy("log_id")
    .limit(marksAtOnce)
    .execute();
}

/** Removes those of these entries that wait for it now, within a transaction in which something takes their place. */
export async function removeMarkedNow(
  tx: LogsDatabase,
  { accountId, logIds, at }: { readonly accountId: string; readonly logIds: readonly string[]; readonly at: number },
): Promise<readonly string[]> {
  const marked = await markedAmong(tx, logIds);
  for (const [deletionId, entries] of Map.groupBy(marked, (one) => one.deletion_id)) {
    const ids = entries.map(({ log_id }) => log_id);
    const removed = await removeLogs(tx, { accountId, logIds: ids, at });
    await countRemoved(tx, { deletionId, accountId }, { logIds: ids, removed });
  }
  return marked.map(({ log_id }) => log_id);
}
