import { performance } from "node:perf_hooks";
import { setImmediate as nextTask } from "node:timers/promises";
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import { removeAllLogs, removeLogs } from "./delete-logs.ts";
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

/** Marking this many takes milliseconds. */
const marksAtOnce = 1_000;
/** Target duration of a transaction. SQLite blocks all other writes in the meantime, PostgreSQL only those to the same account's memory. */
const batches = { sqlite: { ms: 20, least: 1 }, postgres: { ms: 100, least: 4 } } as const;
const firstBatch = 4;
const maxBatch = 256;

interface LargeDeletionDeps extends LogsDatabase {
  readonly clock: Clock;
  readonly erasure: Pick<Erasure, "prepare" | "relieve">;
  /** Called in a deletion's last transaction. */
  readonly atEnd: (tx: LogsDatabase, ended: EndedDeletion) => Promise<void>;
}

/** Conditions on `log_entries`; an entry matches if one is true. */
export type EntryParts = readonly RawBuilder<SqlBool>[];

/** Deletes many entries: they disappear at once, and are then removed in short transactions. */
export interface LargeDeletions {
  /** @param beforeDecided called with the entries before they disappear */
  run(
    asked: { readonly accountId: string; readonly plan: DeletionPlan; readonly parts: EntryParts },
    beforeDecided?: (logIds: readonly string[]) => Promise<void>,
  ): Promise<RemovedRows>;
  /** Resumes deletions of an earlier process. */
  resume(): Promise<void>;
  /** Idempotent. The rest is removed at the next start. */
  close(): Promise<void>;
}

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

  /** @returns how long other writes waited, or null if none is left */
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

  /** @returns the removed rows; zeros if another process finished it */
  async function removeAll(deletion: MarkedDeletion): Promise<RemovedRows> {
    const { ms, least } = batches[deps.dialect];
    let limit: number = firstBatch;
    for (;;) {
      if (closed) {
        throw new PosternError(
          "store_unavailable",
          "The gateway is stopping. The deletion continues at the next start.",
        );
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
        // If the store fails, a later start drops the marks, which have no effect yet.
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

/** Removes marked entries immediately, within the transaction that stores their content again. */
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

/** Removes accounts with their memory. */
export interface AccountForgetting {
  /**
   * Deletes an account's memory, then the account. An interrupted removal continues at the next start. While another process reads the
   * store's file, erasing is retried, at the latest at the next start.
   * @param removeAccount called in the last transaction
   */
  forget(accountId: string, removeAccount: (within: Kysely<Tables>) => Promise<void>): Promise<void>;
}

export function createAccountForgetting(
  deps: LogsDatabase & { readonly clock: Clock; readonly log: Log; readonly erasure: Erasure },
): AccountForgetting {
  const { erasure } = deps;
  return {
    async forget(accountId, removeAccount) {
      await erasure.start();
      const large = createLargeDeletions({
        ...deps,
        async atEnd(tx) {
          await removeAllLogs(tx, { accountId, at: deps.clock.now() }); // entries added in the meantime, and words
          await removeAccount(tx.db);
          await erasure.prepare(tx.db);
        },
      });
      await large.run({ accountId, plan: { action: "account_removed" }, parts: [sql`true`] });
      if ((await erasure.finish()) === "pending") {
        deps.log.warn(
          { accountId },
          "erasing a removed account's memory is pending: another process is reading the store",
        );
      }
    },
  };
}
