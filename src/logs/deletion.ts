import { sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { LogDeletion, SessionLogDeletion } from "../wire/logs.ts";
import { type RemovedRows, removeLogs } from "./delete-logs.ts";
import { logNotFound } from "./errors.ts";
import type { Extraction } from "./extraction.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { DeletionNote, DeletionOrigin, NamesOf, NoteDeletion } from "./ports.ts";
import { shareOf } from "./preview.ts";
import { isVisible, type VisibilityFilter } from "./visibility-filter.ts";

/** Deletes for good, and says what went. */
export interface Deletion {
  one(visibility: VisibilityFilter, logId: string, by: DeletionOrigin): Promise<LogDeletion>;
  session(visibility: VisibilityFilter, sessionId: string, by: DeletionOrigin): Promise<SessionLogDeletion>;
}

interface Asked extends Pick<DeletionNote, "action"> {
  readonly visibility: VisibilityFilter;
  readonly by: DeletionOrigin;
  /** The id of what is deleted. */
  readonly subject: string;
}

const findOne = logsQuery<{ readonly logId: string; readonly accountId: string }, { log_id: string }>(
  (_dialect, slot) =>
    sql`select log_id from log_entries where log_id = ${slot("logId")} and account_id = ${slot("accountId")}`,
);

/** @see Deletion */
export function createDeletion(
  deps: LogsDatabase & {
    readonly clock: Clock;
    readonly noteDeletion: NoteDeletion;
    readonly namesOf: NamesOf;
    readonly erasure: Pick<Erasure, "finish" | "prepare">;
    readonly extraction: Extraction;
  },
): Deletion {
  const { clock, erasure, extraction, noteDeletion } = deps;

  async function remove(
    { visibility, by, subject, action }: Asked,
    find: (tx: LogsDatabase) => Promise<readonly string[]>,
  ): Promise<RemovedRows & { readonly isErased: boolean }> {
    const at = clock.now();
    const { accountId } = visibility;
    const { logIds, removed } = await writeFor(deps, accountId, async (tx) => {
      const found = await find(tx);
      if (found.length === 0) throw logNotFound();
      const share = visibility.dirs === null ? null : await shareOf(tx, visibility, found);
      const rows = await removeLogs(tx, { accountId, logIds: found, at });
      const { actor, ...from } = by;
      await noteDeletion(
        { action, accountId, subject: sha256(subject), details: { ...rows, with: actor }, from },
        tx.db,
      );
      await erasure.prepare(tx.db);
      return { logIds: found, removed: share === null ? rows : { logs: rows.logs, ...share } };
    });
    extraction.cancel(logIds);
    return { ...removed, isErased: (await erasure.finish()) === "done" };
  }

  return {
    async one(visibility, logId, by) {
      const removed = await remove({ visibility, by, subject: logId, action: "log_deleted" }, async (tx) => {
        if (visibility.dirs === null) {
          const rows = await findOne(tx, { logId, accountId: visibility.accountId });
          return rows.map(({ log_id }) => log_id);
        }
        const row = await tx.db
          .selectFrom("log_entries")
          .select("log_id")
          .where("log_id", "=", logId)
          .where("account_id", "=", visibility.accountId)
          .where(isVisible(tx, visibility))
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
    async session(visibility, sessionId, by) {
      const names = await deps.namesOf(sessionId);
      const subject = names[0] ?? sessionId;
      const removed = await remove({ visibility, by, subject, action: "session_logs_deleted" }, async (tx) => {
        const rows = await tx.db
          .selectFrom("log_entries")
          .select("log_id")
          .where("account_id", "=", visibility.accountId)
          .where(isVisible(tx, visibility))
          .where("session_id", "in", names)
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
