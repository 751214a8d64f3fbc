import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";

/** A filter of sessions by their notes. */
export interface NotedFilter {
  /** `any`: archived or not. */
  readonly archived: boolean | "any";
  /** Sessions that count as not archived, because they need an answer. */
  readonly needing: readonly string[];
  readonly pinned: boolean | null;
  readonly label: string | null;
}

/** @param alias of a table with `session_id` and `agent` */
export function isNoted(
  reader: Pick<CatalogDatabase, "dialect">,
  alias: "t" | "s" | "n",
  { archived, needing, pinned, label }: NotedFilter,
): readonly Expression<SqlBool>[] {
  const id = sql<string>`${sql.ref(`${alias}.session_id`)}`;
  const key = sql`(${id}, ${sql.ref(`${alias}.agent`)})`;
  const among = (where: RawBuilder<unknown>) => sql<SqlBool>`${key} in (${where})`;
  const archivedOnes = sql`select n.session_id, n.agent from session_notes n where n.archived_at is not null`;
  const pinnedOnes = sql`select n.session_id, n.agent from session_notes n where n.pinned_at is not null`;
  const needsAnswer = isIdAmong(reader, id, needing);
  const conditions: Expression<SqlBool>[] = [];
  if (archived === true) conditions.push(among(archivedOnes));
  if (archived === false) {
    const visible = sql<SqlBool>`not ${among(archivedOnes)}`;
    conditions.push(needing.length === 0 ? visible : sql<SqlBool>`(${visible} or ${needsAnswer})`);
  }
  if (pinned !== null) conditions.push(pinned ? among(pinnedOnes) : sql<SqlBool>`not ${among(pinnedOnes)}`);
  if (label !== null) {
    conditions.push(among(sql`select l.session_id, l.agent from session_labels l where l.label = ${label}`));
  }
  return conditions;
}

/** Uses one SQL parameter for any number of IDs. */
export function isIdAmong(
  { dialect }: Pick<CatalogDatabase, "dialect">,
  value: Expression<string>,
  list: readonly string[],
): Expression<SqlBool> {
  if (dialect === "postgres") return sql<SqlBool>`(${value} = any(${[...list]}::text[]))`;
  return sql<SqlBool>`(${value} in (select value from json_each(${JSON.stringify(list)})))`;
}
