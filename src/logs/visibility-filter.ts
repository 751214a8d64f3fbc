import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type LogsDatabase, textsOf } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { LogsCaller, VisibleAmong } from "./ports.ts";

/** Directories that are looked at together, and so many are seen at most where a rule hides some. Sessions of so many places nobody has. */
const maxDirs = 10_000;

/** What a caller sees of an account's entries. */
export interface VisibilityFilter {
  readonly accountId: string;
  /** The directories whose entries are seen; null when nothing is hidden. */
  readonly dirs: readonly string[] | null;
  /** Whether entries of no place are seen. */
  readonly placeless: boolean;
}

/** For what the memory does itself. */
export function everythingOf(accountId: string): VisibilityFilter {
  return { accountId, dirs: null, placeless: true };
}

/**
 * What the folder rule lets a caller see, by the rule as it is now. Who is limited to folders sees only entries of directories in them;
 * everybody else sees entries of no place too.
 */
export async function visibilityFilterOf(
  on: LogsDatabase & { readonly visibleAmong: VisibleAmong },
  { accountId, folders }: LogsCaller,
): Promise<VisibilityFilter> {
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
  if (folders !== null) return { accountId, dirs: seen, placeless: false };
  return { accountId, dirs: isAll ? null : seen, placeless: true };
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
  { dirs, placeless }: VisibilityFilter,
  entry = "log_entries",
): RawBuilder<SqlBool> {
  if (dirs === null) return sql`true`;
  const dir = sql.ref(`${entry}.dir`);
  const entries = sql<SqlBool>`${dir} in ${textsOf(dialect, dirs)}`;
  return placeless ? sql`(${dir} is null or ${entries})` : entries;
}

/** That the entry is seen which a row was derived from. @param logId where the row has the entry's id */
export function isOfVisible(on: LogsDatabase, visibility: VisibilityFilter, logId: string): RawBuilder<SqlBool> {
  if (visibility.dirs === null) return sql`true`;
  return sql`exists (select 1 from log_entries as seen where seen.log_id = ${sql.ref(logId)} and ${isVisible(on, visibility, "seen")})`;
}
