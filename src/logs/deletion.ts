import { sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { DeletionPreview, LogDeletion, SessionLogDeletion } from "../wire/logs.ts";
import { removeAllLogs, removeLogs } from "./delete-logs.ts";
import { findRow } from "./entries.ts";
import { logNotFound } from "./errors.ts";
import type { Extraction } from "./extraction.ts";
import { createLargeDeletions, type EntryParts } from "./large-deletion.ts";
import { isOf, type LogsDatabase, logsQuery, type RemovedRows, textsOf, writeFor } from "./logs-database.ts";
import type { DeletionNote, DeletionOrigin, NamesOf, NoteDeletion } from "./ports.ts";
import { isOfVisible, isVisible, seesAll, type VisibilityFilter } from "./visibility-filter.ts";

/** More entries are deleted by {@link LargeDeletions}. */
const fewEntries = 4;

type Removed = RemovedRows & { readonly isErased: boolean };

interface Asked extends Pick<DeletionNote, "action"> {
  readonly visibility: VisibilityFilter;
  readonly by: DeletionOrigin;
  /** Id of the entry or session. */
  readonly subject: string;
}

const findOne = logsQuery<{ readonly logId: string; readonly accountId: string }, { log_id: string }>(
  (_dialect, slot) =>
    sql`select log_id from log_entries where log_id = ${slot("logId")} and account_id = ${slot("accountId")}`,
);

/** Deletes permanently and reports what was removed. */
export function createDeletion(
  deps: LogsDatabase & {
    readonly clock: Clock;
    readonly noteDeletion: NoteDeletion;
    readonly namesOf: NamesOf;
    readonly erasure: Pick<Erasure, "finish" | "prepare" | "relieve">;
    readonly extraction: Extraction;
  },
) {
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
    async one(visibility: VisibilityFilter, logId: string, by: DeletionOrigin): Promise<LogDeletion> {
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
      const what =
        episodes > 0 ? "the memory entry and its episode" : "the memory entry, which had not been processed yet";
      return {
        success: true,
        message: deletedText(what, removed),
        deleted: { episode: episodes > 0, statements, entities, facts },
      };
    },
    async session(visibility: VisibilityFilter, sessionId: string, by: DeletionOrigin): Promise<SessionLogDeletion> {
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
      const what = `${counted(logs, "memory entry", "memory entries")} of the session and ${counted(episodes, "episode", "episodes")}`;
      return {
        success: true,
        message: deletedText(what, removed),
        deleted: { logs, episodes, statements, entities, facts },
      };
    },
    /** Finishes deletions of an earlier process. */
    resume: (): Promise<void> => large.resume(),
    /** Idempotent. */
    close: (): Promise<void> => large.close(),
  };
}

/** The part of a deletion that the caller can see; null if it can see everything. */
async function seenShareOf(
  on: LogsDatabase,
  visibility: VisibilityFilter,
  logIds: readonly string[],
): Promise<Share | null> {
  return visibility.dirs === null ? null : shareOf(on, visibility, logIds);
}

function deletedText(what: string, removed: RemovedRows & { readonly isErased: boolean }): string {
  const facts = counted(removed.facts, "fact", "facts");
  const statements = counted(removed.statements, "statement", "statements");
  const entities = counted(removed.entities, "entity", "entities");
  const gone = `Deleted ${what}, with ${facts}, ${statements} and ${entities} that no other entry refers to.`;
  return removed.isErased
    ? gone
    : `${gone} Erasing them from the store's file is pending because another process is reading it. It is retried until that process finishes, and at the next start.`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The visible rows derived from entries. */
export interface Share {
  readonly episodes: number;
  readonly facts: number;
  /** Statements that no other visible entry refers to. */
  readonly statements: number;
  readonly entities: number;
  /** All statements in these entries. */
  readonly said: number;
  readonly named: number;
}

/** What a deletion would remove and keep. @throws PosternError `log_not_found` */
export async function previewDeletion(
  on: LogsDatabase,
  visibility: VisibilityFilter,
  logId: string,
): Promise<DeletionPreview> {
  if ((await findRow(on, visibility, logId)) === null) throw logNotFound();
  const { episodes, facts, statements, entities, said, named } = await shareOf(on, visibility, [logId]);
  return {
    logId,
    removed: { episode: episodes > 0, statements, entities, facts },
    shared: { statements: said - statements, entities: named - entities },
  };
}

/** Counts everything that these entries refer to, and the part of it that no other visible entry refers to. */
export async function shareOf(
  on: LogsDatabase,
  visibility: VisibilityFilter,
  logIds: readonly string[],
): Promise<Share> {
  const { accountId } = visibility;
  const ids = textsOf(on.dialect, logIds);
  const others = sql`f.log_id not in (select log_id from ids) and ${isOfVisible(on, visibility, "f.log_id")}`;
  const { rows } = await sql<Share>`
    with ids(log_id) as ${ids},
    said as (select distinct statement_id from facts where log_id in (select log_id from ids) and ${isOf(accountId)}),
    named as (select s.subject_id as entity_id from statements as s join said on said.statement_id = s.statement_id
      union select s.object_id from statements as s join said on said.statement_id = s.statement_id where s.object_id is not null)
    select
      (select count(*) from episodes where log_id in (select log_id from ids) and ${isOf(accountId)}) as episodes,
      (select count(*) from facts where log_id in (select log_id from ids) and ${isOf(accountId)}) as facts,
      (select count(*) from said) as said,
      (select count(*) from said where not exists
        (select 1 from facts as f where f.statement_id = said.statement_id and ${others})) as statements,
      (select count(*) from named) as named,
      (select count(*) from named
        where not exists (select 1 from facts as f where f.subject_id = named.entity_id and ${others})
        and not exists (select 1 from statements as s join facts as f on f.statement_id = s.statement_id
          where s.object_id = named.entity_id and ${others})) as entities`.execute(on.db);
  return rows[0] ?? { episodes: 0, facts: 0, statements: 0, entities: 0, said: 0, named: 0 };
}
