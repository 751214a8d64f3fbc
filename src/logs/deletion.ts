import type { Clock } from "../core/clock.ts";
import type { LogDeletion, SessionLogDeletion } from "../wire/logs.ts";
import { type RemovedRows, removeLogs } from "./delete-logs.ts";
import type { Erasure } from "./erasure.ts";
import { logNotFound } from "./errors.ts";
import type { Extraction } from "./extraction.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";

/** Deletes for good, and says what went. */
export interface Deletion {
  one(accountId: string, logId: string, actor: string): Promise<LogDeletion>;
  session(accountId: string, sessionId: string, actor: string): Promise<SessionLogDeletion>;
}

/** @see Deletion */
export function createDeletion(
  deps: LogsDatabase & {
    readonly clock: Clock;
    readonly newId: (epochMs: number) => string;
    readonly erasure: Erasure;
    readonly extraction: Extraction;
  },
): Deletion {
  const { clock, erasure, extraction, newId } = deps;

  async function remove(
    { accountId, actor, subject }: { readonly accountId: string; readonly actor: string; readonly subject: string },
    find: (tx: LogsDatabase) => Promise<readonly string[]>,
  ): Promise<RemovedRows & { readonly isErased: boolean }> {
    const at = clock.now();
    const { logIds, removed } = await writeFor(deps, accountId, async (tx) => {
      const found = await find(tx);
      if (found.length === 0) throw logNotFound();
      const removal = { accountId, logIds: found, actor, at, deletionId: newId(at), subject };
      return { logIds: found, removed: await removeLogs(tx, removal) };
    });
    extraction.cancel(logIds);
    return { ...removed, isErased: (await erasure.finish()) === "done" };
  }

  return {
    async one(accountId, logId, actor) {
      const removed = await remove({ accountId, actor, subject: logId }, async ({ db }) => {
        const row = await db
          .selectFrom("log_entries")
          .select("log_id")
          .where("log_id", "=", logId)
          .where("account_id", "=", accountId)
          .executeTakeFirst();
        return row === undefined ? [] : [row.log_id];
      });
      const { episodes, statements, entities, facts } = removed;
      const what = episodes > 0 ? "the log entry and its episode" : "the log entry, from which nothing was derived yet";
      return {
        success: true,
        message: messageOf(what, removed),
        deleted: { episode: episodes > 0, statements, entities, facts },
      };
    },
    async session(accountId, sessionId, actor) {
      const removed = await remove({ accountId, actor, subject: sessionId }, async ({ db }) => {
        const rows = await db
          .selectFrom("log_entries")
          .select("log_id")
          .where("account_id", "=", accountId)
          .where("session_id", "=", sessionId)
          .execute();
        return rows.map(({ log_id }) => log_id);
      });
      const { logs, episodes, statements, entities, facts } = removed;
      const what = `${counted(logs, "log entry", "log entries")} of the session and ${counted(episodes, "episode", "episodes")}`;
      return {
        success: true,
        message: messageOf(what, removed),
        deleted: { logs, episodes, statements, entities, facts },
      };
    },
  };
}

function messageOf(what: string, removed: RemovedRows & { readonly isErased: boolean }): string {
  const { facts, statements, entities, isErased } = removed;
  const derived = [
    counted(facts, "fact", "facts"),
    counted(statements, "statement", "statements"),
    counted(entities, "entity", "entities"),
  ];
  const gone = `Deleted ${what}, with ${derived[0] ?? ""}, ${derived[1] ?? ""} and ${derived[2] ?? ""} that nothing else refers to.`;
  return isErased
    ? gone
    : `${gone} Erasing them from the store's file is pending: a reader is in the way. It is done when the reader leaves, and at the next start.`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
