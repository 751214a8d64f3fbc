import { type RawBuilder, type SqlBool, sql } from "kysely";
import { z } from "zod";
import { newUuid } from "../core/ids.ts";
import { type LogsDatabase, logsQuery, type RemovedRows, textsIn, textsOf } from "./logs-database.ts";
import type { DeletionNote } from "./ports.ts";

/** What to do at the end of a deletion: write this audit entry, or remove the account. */
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

export type DeletionPlan = z.infer<typeof planSchema>;

/** A deletion that takes several transactions. */
export interface MarkedDeletion {
  readonly deletionId: string;
  readonly accountId: string;
}

/** An older undecided deletion was abandoned. */
const undecidedLifetimeMs = 3_600_000;

/** Whether an entry is being deleted; it is then invisible. @param logId the column with its id */
export function isMarked(logId: string): RawBuilder<SqlBool> {
  return sql`exists (select 1 from log_deletion_entries as mark
    join log_deletions as deletion on deletion.deletion_id = mark.deletion_id
    where mark.log_id = ${sql.ref(logId)} and deletion.is_decided = 1)`;
}

const findDecided = logsQuery<{ readonly accountId: string }, { n: number }>(
  (_dialect, slot) =>
    sql`select 1 as n from log_deletions where account_id = ${slot("accountId")} and is_decided = 1 limit 1`,
);

/** Whether entries of an account are being deleted. */
export async function hasMarked(on: LogsDatabase, accountId: string): Promise<boolean> {
  return (await findDecided(on, { accountId })).length > 0;
}

/** Which of these entries are being deleted, and by which deletion. */
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

/** Begins a deletion. It has no effect until decided. */
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

/** Adds entries to an undecided deletion, and removes them from other undecided deletions. */
export async function markEntries(
  on: LogsDatabase,
  { deletionId }: MarkedDeletion,
  logIds: readonly string[],
): Promise<void> {
  await mark(on, { deletionId, ids: JSON.stringify(logIds) });
}

/** Makes its entries invisible. */
export async function decideDeletion({ db }: LogsDatabase, { deletionId }: MarkedDeletion): Promise<void> {
  await db.updateTable("log_deletions").set({ is_decided: 1 }).where("deletion_id", "=", deletionId).execute();
}

/** Drops a failed deletion unless it was decided after all. */
export async function dropUndecided({ db }: LogsDatabase, { deletionId }: MarkedDeletion): Promise<void> {
  await db.deleteFrom("log_deletions").where("deletion_id", "=", deletionId).where("is_decided", "=", 0).execute();
}

/** Decided deletions of earlier processes. Abandoned ones are dropped. */
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

/** Some of the remaining entries. */
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

/** Counts removed rows and drops the marks of removed entries. */
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

export interface EndedDeletion {
  readonly accountId: string;
  readonly removed: RemovedRows;
  /** Null if the account is to be removed. */
  readonly note: DeletionNote | null;
}

/** Ends a deletion without remaining entries. @returns null if another process did */
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
