import { type RawBuilder, type SqlBool, sql } from "kysely";
import { z } from "zod";
import { newUuid } from "../core/ids.ts";
import { type LogsDatabase, type RemovedRows, textsIn, textsOf } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { DeletionNote } from "./ports.ts";

/** What a deletion is to note when its last entry is gone, beside the rows that it took; or that the account goes then. */
const planSchema = z.union([
  z.object({
    action: z.enum(["log_deleted", "session_logs_deleted"]),
    subject: z.string(),
    actor: z.string(),
    address: z.string().nullable(),
    userAgent: z.string().nullable(),
  }),
  z.object({ action: z.literal("account_removed") }),
]);

/** @see planSchema */
export type DeletionPlan = z.infer<typeof planSchema>;

/** A deletion of more entries than one transaction removes. */
export interface MarkedDeletion {
  readonly deletionId: string;
  readonly accountId: string;
}

/** One that was not decided within this time was given up by the process that began it. */
const undecidedLifetimeMs = 3_600_000;

/** That an entry waits to be removed, by where a row has its id: from the moment when that was decided, it is as one that never was. */
export function isMarked(logId: string): RawBuilder<SqlBool> {
  return sql`exists (select 1 from log_deletion_entries as mark
    join log_deletions as deletion on deletion.deletion_id = mark.deletion_id
    where mark.log_id = ${sql.ref(logId)} and deletion.is_decided = 1)`;
}

const findDecided = logsQuery<{ readonly accountId: string }, { n: number }>(
  (_dialect, slot) =>
    sql`select 1 as n from log_deletions where account_id = ${slot("accountId")} and is_decided = 1 limit 1`,
);

/** Whether entries of an account wait to be removed. */
export async function hasMarked(on: LogsDatabase, accountId: string): Promise<boolean> {
  return (await findDecided(on, { accountId })).length > 0;
}

/** Which of these entries wait to be removed, by which deletion. */
export async function markedAmong(
  { db, dialect }: LogsDatabase,
  logIds: readonly string[],
): Promise<readonly { readonly log_id: string; readonly deletion_id: string }[]> {
  if (logIds.length === 0) return [];
  const { rows } = await sql<{ log_id: string; deletion_id: string }>`select mark.log_id, mark.deletion_id
    from log_deletion_entries as mark join log_deletions as deletion on deletion.deletion_id = mark.deletion_id
    where mark.log_id in ${textsOf(dialect, logIds)} and deletion.is_decided = 1`.execute(db);
  return rows;
}

/** Begins a deletion, which takes nothing away until it is decided. */
export async function planDeletion(
  { db }: LogsDatabase,
  { accountId, plan, at }: { readonly accountId: string; readonly plan: DeletionPlan; readonly at: number },
): Promise<MarkedDeletion> {
  const deletionId = newUuid();
  await db
    .insertInto("log_deletions")
    .values({ deletion_id: deletionId, account_id: accountId, plan: JSON.stringify(plan), is_decided: 0, begun_at: at })
    .execute();
  return { deletionId, accountId };
}

const mark = logsQuery<{ readonly deletionId: string; readonly ids: string }>(
  (dialect, slot) => sql`insert into log_deletion_entries (log_id, deletion_id)
    select item.value, ${slot("deletionId")} from ${textsIn(dialect, slot("ids"))} as item where true
    on conflict (log_id) do update set deletion_id = excluded.deletion_id
      where log_deletion_entries.deletion_id not in (select deletion_id from log_deletions where is_decided = 1)`,
);

/** Adds entries to a deletion that is not decided yet; those of another such one go over to it. */
export async function markEntries(
  on: LogsDatabase,
  { deletionId }: MarkedDeletion,
  logIds: readonly string[],
): Promise<void> {
  await mark(on, { deletionId, ids: JSON.stringify(logIds) });
}

/** From now on its entries are gone for all that asks. */
export async function decideDeletion({ db }: LogsDatabase, { deletionId }: MarkedDeletion): Promise<void> {
  await db.updateTable("log_deletions").set({ is_decided: 1 }).where("deletion_id", "=", deletionId).execute();
}

/** Removes the marks of a deletion that failed; one that was decided all the same stays. */
export async function dropUndecided({ db }: LogsDatabase, { deletionId }: MarkedDeletion): Promise<void> {
  await db.deleteFrom("log_deletions").where("deletion_id", "=", deletionId).where("is_decided", "=", 0).execute();
}

/** Those that an earlier process decided. What it did not decide is given up. */
export async function decidedDeletions({ db }: LogsDatabase, at: number): Promise<readonly MarkedDeletion[]> {
  await db
    .deleteFrom("log_deletions")
    .where("is_decided", "=", 0)
    .where("begun_at", "<", at - undecidedLifetimeMs)
    .execute();
  const rows = await db
    .selectFrom("log_deletions")
    .select(["deletion_id", "account_id"])
    .where("is_decided", "=", 1)
    .orderBy("begun_at")
    .execute();
  return rows.map(({ deletion_id, account_id }) => ({ deletionId: deletion_id, accountId: account_id }));
}

/** Some of the entries that are left. */
export async function markedEntries(
  { db }: LogsDatabase,
  { deletionId }: MarkedDeletion,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("log_deletion_entries")
    .select("log_id")
    .where("deletion_id", "=", deletionId)
    .orderBy("log_id")
    .limit(limit)
    .execute();
  return rows.map(({ log_id }) => log_id);
}

/** These entries of a deletion were removed, with so many rows. */
export async function countRemoved(
  { db, dialect }: LogsDatabase,
  { deletionId }: MarkedDeletion,
  { logIds, removed }: { readonly logIds: readonly string[]; readonly removed: RemovedRows },
): Promise<void> {
  const { logs, episodes, statements, entities, facts } = removed;
  await sql`update log_deletions set logs = logs + ${logs}, episodes = episodes + ${episodes},
    statements = statements + ${statements}, entities = entities + ${entities}, facts = facts + ${facts}
    where deletion_id = ${deletionId}`.execute(db);
  await sql`delete from log_deletion_entries
    where log_id in ${textsOf(dialect, logIds)}`.execute(db);
}

/** A deletion of which no entry is left. */
export interface EndedDeletion {
  readonly accountId: string;
  readonly removed: RemovedRows;
  /** Null when the account is to be removed. */
  readonly note: DeletionNote | null;
}

/** Forgets a deletion of which no entry is left. @returns null when another process was first */
export async function endDeletion(
  { db }: LogsDatabase,
  { deletionId, accountId }: MarkedDeletion,
): Promise<EndedDeletion | null> {
  const row = await db
    .deleteFrom("log_deletions")
    .where("deletion_id", "=", deletionId)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  const { logs, episodes, statements, entities, facts } = row;
  const removed = { logs, episodes, statements, entities, facts };
  const plan = planSchema.parse(JSON.parse(row.plan));
  if (plan.action === "account_removed") return { accountId, removed, note: null };
  const { action, subject, actor, ...from } = plan;
  return { accountId, removed, note: { action, accountId, subject, details: { ...removed, with: actor }, from } };
}
