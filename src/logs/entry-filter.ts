import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { ListLogsInput } from "../wire/logs.ts";
import { type LogsDatabase, textsOf } from "./logs-database.ts";
import type { NamesOf } from "./ports.ts";
import { isVisible, type VisibilityFilter } from "./visibility-filter.ts";

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
export function isAll({ dirs, source, status, names }: EntryFilter): boolean {
  return dirs === null && source === undefined && status === undefined && names === null;
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
