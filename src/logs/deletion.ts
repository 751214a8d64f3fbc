import { sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { LogDeletion, SessionLogDeletion } from "../wire/logs.ts";
import { removeAllLogs, removeLogs } from "./delete-logs.ts";
import { logNotFound } from "./errors.ts";
import type { Extraction } from "./extraction.ts";
import { createLargeDeletions, type EntryParts } from "./large-deletion.ts";
import type { RemovedRows } from "./logs-database.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { DeletionNote, DeletionOrigin, NamesOf, NoteDeletion } from "./ports.ts";
import { type Share, shareOf } from "./preview.ts";
import { isVisible, seesAll, type VisibilityFilter } from "./visibility-filter.ts";

/** So many entries go in one transaction; more are a {@link LargeDeletions}. */
const fewEntries = 4;

/** Deletes for good, and says what went. */
export interface Deletion {
  one(visibility: VisibilityFilter, logId: string, by: DeletionOrigin): Promise<LogDeletion>;
  session(visibility: VisibilityFilter, sessionId: string, by: DeletionOrigin): Promise<SessionLogDeletion>;
  /** Removes what an earlier process was about to. */
  resume(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

type Removed = RemovedRows & { readonly isErased: boolean };

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
    readonly erasure: Pick<Erasure, "finish" | "prepare" | "relieve">;
    readonly extraction: Extraction;
  },
): Deletion {
  const { clock, erasure, extraction, noteDeletion } = deps;
  const large = createLargeDeletions({
    ...deps,
    async atEnd(tx, { accountId, note }) {
      if (note !== null) return noteDeletion(note, tx.db);
      await removeAllLogs(tx, { accountId, at: clock.now() });
      await tx.db.deleteFrom("accounts").where("account_id", "=", accountId).execute();
    },
  });

  async function remove(
    { visibility, by, subject, action }: Asked,
    find: (tx: LogsDatabase) => Promise<readonly string[]>,
  ): Promise<Removed> {
    const at = clock.now();
    const { accountId } = visibility;
    const { logIds, removed } = await writeFor(deps, accountId, async (tx) => {
      const found = await find(tx);
      if (found.length === 0) throw logNotFound();
      const share = await seenShareOf(tx, visibility, found);
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

  async function removeMany({ visibility, by, subject, action }: Asked, parts: EntryParts): Promise<Removed> {
    const found: { share: Share | null } = { share: null };
    const { accountId } = visibility;
    const rows = await large.run(
      { accountId, plan: { action, subject: sha256(subject), ...by }, parts },
      async (logIds) => {
        found.share = await seenShareOf(deps, visibility, logIds);
        extraction.cancel(logIds);
      },
    );
    return { ...rows, ...found.share, logs: rows.logs, isErased: (await erasure.finish()) === "done" };
  }

  return {
    async one(visibility, logId, by) {
      const removed = await remove({ visibility, by, subject: logId, action: "log_deleted" }, async (tx) => {
        if (seesAll(visibility)) {
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
        message: deletedText(what, removed),
        deleted: { episode: episodes > 0, statements, entities, facts },
      };
    },
    async session(visibility, sessionId, by) {
      const names = await deps.namesOf(sessionId);
      const subject = names[0] ?? sessionId;
      const asked = { visibility, by, subject, action: "session_logs_deleted" } as const;
      const ofSession = (on: LogsDatabase) =>
        on.db
          .selectFrom("log_entries")
          .select("log_id")
          .where("account_id", "=", visibility.accountId)
          .where(isVisible(on, visibility))
          .where("session_id", "in", names);
      const some = await ofSession(deps)
        .limit(fewEntries + 1)
        .execute();
      const removed =
        some.length > fewEntries
          ? await removeMany(
              asked,
              names.map((name) => sql`session_id = ${name} and ${isVisible(deps, visibility)}`),
            )
          : await remove(asked, async (tx) => (await ofSession(tx).execute()).map(({ log_id }) => log_id));
      const { logs, episodes, statements, entities, facts } = removed;
      const what = `${counted(logs, "log entry", "log entries")} of the session and ${counted(episodes, "episode", "episodes")}`;
      return {
        success: true,
        message: deletedText(what, removed),
        deleted: { logs, episodes, statements, entities, facts },
      };
    },
    resume: () => large.resume(),
    close: () => large.close(),
  };
}

/** What is seen of a deletion where something is hidden; null where all of it is seen. */
async function seenShareOf(
  on: LogsDatabase,
  visibility: VisibilityFilter,
  logIds: readonly string[],
): Promise<Share | null> {
  return visibility.dirs === null ? null : shareOf(on, visibility, logIds);
}

function deletedText(what: string, removed: RemovedRows & { readonly isErased: boolean }): string {
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
