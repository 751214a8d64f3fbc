import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { ListLogsInput } from "../wire/logs.ts";
import { type LogsDatabase, textsOf } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import { hasMarked, isMarked } from "./marked-entries.ts";
import type { LogsCaller, NamesOf, VisibleAmong } from "./ports.ts";

/** Directories that are looked at together, and so many are seen at most where a rule hides some. Sessions of so many places nobody has. */
const maxDirs = 10_000;

/** What a caller sees of an account's entries. */
export interface VisibilityFilter {
  readonly accountId: string;
  /** The directories whose entries are seen; null when nothing is hidden. */
  readonly dirs: readonly string[] | null;
  /** Whether entries of no place are seen. */
  readonly placeless: boolean;
  /** Whether some entries may wait to be removed, which nobody sees. */
  readonly someMarked: boolean;
}

/** Whether every entry of the account is seen. */
export function seesAll({ dirs, someMarked }: VisibilityFilter): boolean {
  return dirs === null && !someMarked;
}

/** For what the memory does itself. */
export function everythingOf(accountId: string): VisibilityFilter {
  return { accountId, dirs: null, placeless: true, someMarked: true };
}

/**
 * What the folder rule lets a caller see, by the rule as it is now. Who is limited to folders sees only entries of directories in them;
 * everybody else sees entries of no place too.
 */
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

/** The directories behind one, each once: from one to the next along the index, however many entries it has. */
const findDirs = logsQuery<{ readonly accountId: string; readonly after: string }, { dir: string }>(
  (_dialect, slot) => sql`with recursive d(dir) as (
      select min(dir) from log_entries where account_id = ${slot("accountId")} and dir > ${slot("after")}
      union all select (select min(e.dir) from log_entries as e where e.account_id = ${slot("accountId")} and e.dir > d.dir)
      from d where d.dir is not null)
    select dir from d where dir is not null limit ${sql.lit(maxDirs)}`,
);

/** That an entry is seen, of a query that has its row. */
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

/** That the entry is seen which a row was derived from. @param logId where the row has the entry's id */
export function isOfVisible(on: LogsDatabase, visibility: VisibilityFilter, logId: string): RawBuilder<SqlBool> {
  if (visibility.dirs === null) return visibility.someMarked ? sql`not ${isMarked(logId)}` : sql`true`;
  return sql`exists (select 1 from log_entries as seen where seen.log_id = ${sql.ref(logId)} and ${isVisible(on, visibility, "seen")})`;
}

/** What callers may limit a list or a search of entries to. */
type FilterInput = Pick<ListLogsInput, "source" | "status" | "sessionId">;

/** Entries that are meant: those of {@link VisibilityFilter} that a filter leaves. */
export interface EntryFilter extends VisibilityFilter, Pick<FilterInput, "source" | "status"> {
  /** The names of the session that they have to be of; null for any. */
  readonly names: readonly string[] | null;
}

/** @param filter its session by any name that it ever had */
export async function entryFilterFor(
  { namesOf }: { readonly namesOf: NamesOf },
  visibility: VisibilityFilter,
  { source, status, sessionId }: FilterInput,
): Promise<EntryFilter> {
  return { ...visibility, source, status, names: sessionId === undefined ? null : await namesOf(sessionId) };
}

/** Whether every entry of the account is meant. */
export function meansAll(entries: EntryFilter): boolean {
  const { source, status, names } = entries;
  return seesAll(entries) && source === undefined && status === undefined && names === null;
}

/** That an entry is meant, of a query that has its row. */
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

/** Of a posting `p`: that it is of an entry that is meant. A session has few pieces, which come first; else it is asked of each. */
export function matchesPosting(on: LogsDatabase, entries: EntryFilter): RawBuilder<SqlBool> {
  if (entries.names !== null) {
    return sql`p.chunk_id in (select c.chunk_id from log_entries as e join log_chunks as c on c.log_id = e.log_id
      where e.account_id = ${entries.accountId} and ${matchesEntry(on, entries, "e")})`;
  }
  return sql`exists (select 1 from log_chunks as c join log_entries as e on e.log_id = c.log_id
    where c.chunk_id = p.chunk_id and ${matchesEntry(on, entries, "e")})`;
}
