import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { ListLogsInput } from "../wire/logs.ts";
import { type LogsDatabase, logsQuery, textsOf } from "./logs-database.ts";
import { hasMarked, isMarked } from "./marked-entries.ts";
import type { LogsCaller, NamesOf, VisibleAmong } from "./ports.ts";

/** The most directories checked at once and, if some are hidden, the most visible ones that are listed. */
const maxDirs = 10_000;

/** Which entries of an account a caller can see. */
export interface VisibilityFilter {
  readonly accountId: string;
  /** Visible directories; null if nothing is hidden. */
  readonly dirs: readonly string[] | null;
  /** Whether entries without a directory are visible. */
  readonly placeless: boolean;
  /** Whether some entries are being deleted, and so invisible. */
  readonly someMarked: boolean;
}

export function seesAll({ dirs, someMarked }: VisibilityFilter): boolean {
  return dirs === null && !someMarked;
}

/** For the memory's own work. */
export function everythingOf(accountId: string): VisibilityFilter {
  return { accountId, dirs: null, placeless: true, someMarked: true };
}

/** Applies the current folder rule. Callers limited to folders see only entries there; others also see entries without a directory. */
export async function visibilityFilterOf(
  on: LogsDatabase & { readonly visibleAmong: VisibleAmong },
  { accountId, folders }: LogsCaller,
): Promise<VisibilityFilter> {
  const someMarked = await hasMarked(on, accountId);
  const seen: string[] = [];
  let isAll = true;
  let after = "";
  for (;;) {
    const dirs = (await findDirs(on, { accountId, after })).map(({ dir }) => dir);
    const visible = dirs.length === 0 ? new Set<string>() : await on.visibleAmong(dirs, folders);
    for (const dir of dirs) if (visible.has(dir) && seen.length < maxDirs) seen.push(dir);
    isAll &&= dirs.every((dir) => visible.has(dir));
    after = dirs.at(-1) ?? "";
    if (dirs.length < maxDirs || (seen.length >= maxDirs && (folders !== null || !isAll))) break;
  }
  if (folders !== null) return { accountId, dirs: seen, placeless: false, someMarked };
  return { accountId, dirs: isAll ? null : seen, placeless: true, someMarked };
}

/** Lists the distinct directories after a given one, by skipping along the index. */
const findDirs = logsQuery<{ readonly accountId: string; readonly after: string }, { dir: string }>(
  (_dialect, slot) => sql`with recursive d(dir) as (
      select min(dir) from log_entries where account_id = ${slot("accountId")} and dir > ${slot("after")}
      union all select (select min(e.dir) from log_entries as e where e.account_id = ${slot("accountId")} and e.dir > d.dir)
      from d where d.dir is not null)
    select dir from d where dir is not null limit ${sql.lit(maxDirs)}`,
);

/** Whether an entry is visible, in a query with its row. */
export function isVisible(
  { dialect }: LogsDatabase,
  { dirs, placeless, someMarked }: VisibilityFilter,
  entry = "log_entries",
): RawBuilder<SqlBool> {
  const stands = someMarked ? sql<SqlBool>`not ${isMarked(`${entry}.log_id`)}` : sql<SqlBool>`true`;
  if (dirs === null) return stands;
  const dir = sql.ref(`${entry}.dir`);
  const entries = sql<SqlBool>`${dir} in ${textsOf(dialect, dirs)}`;
  return sql`${stands} and ${placeless ? sql`(${dir} is null or ${entries})` : entries}`;
}

/** Whether the entry that a row was derived from is visible. @param logId the column with the entry's id */
export function isOfVisible(on: LogsDatabase, visibility: VisibilityFilter, logId: string): RawBuilder<SqlBool> {
  if (visibility.dirs === null) return visibility.someMarked ? sql`not ${isMarked(logId)}` : sql`true`;
  return sql`exists (select 1 from log_entries as seen where seen.log_id = ${sql.ref(logId)} and ${isVisible(on, visibility, "seen")})`;
}

type FilterInput = Pick<ListLogsInput, "source" | "status" | "sessionId">;

/** Visible entries that match a caller's filter. */
export interface EntryFilter extends VisibilityFilter, Pick<FilterInput, "source" | "status"> {
  /** Names of the session; null for any. */
  readonly names: readonly string[] | null;
}

export async function entryFilterFor(
  { namesOf }: { readonly namesOf: NamesOf },
  visibility: VisibilityFilter,
  { source, status, sessionId }: FilterInput,
): Promise<EntryFilter> {
  return { ...visibility, source, status, names: sessionId === undefined ? null : await namesOf(sessionId) };
}

/** Whether every entry of the account matches. */
export function matchesAll(entries: EntryFilter): boolean {
  const { source, status, names } = entries;
  return seesAll(entries) && source === undefined && status === undefined && names === null;
}

/** Whether an entry matches, in a query with its row. */
export function matchesEntry(on: LogsDatabase, entries: EntryFilter, entry = "log_entries"): RawBuilder<SqlBool> {
  const { source, status, names } = entries;
  const column = (name: string) => sql.ref(`${entry}.${name}`);
  const conditions = [
    isVisible(on, entries, entry),
    ...(names === null ? [] : [sql<SqlBool>`${column("session_id")} in ${textsOf(on.dialect, names)}`]),
    ...(source === undefined ? [] : [sql<SqlBool>`${column("source")} = ${source}`]),
    ...(status === undefined ? [] : [sql<SqlBool>`${column("status")} = ${status}`]),
  ];
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`;
}

/** Whether the entry of a posting `p` matches. A session has few chunks, so they are listed first. */
export function matchesPosting(on: LogsDatabase, entries: EntryFilter): RawBuilder<SqlBool> {
  if (entries.names !== null) {
    return sql`p.chunk_id in (select c.chunk_id from log_entries as e join log_chunks as c on c.log_id = e.log_id
      where e.account_id = ${entries.accountId} and ${matchesEntry(on, entries, "e")})`;
  }
  return sql`exists (select 1 from log_chunks as c join log_entries as e on e.log_id = c.log_id
    where c.chunk_id = p.chunk_id and ${matchesEntry(on, entries, "e")})`;
}
