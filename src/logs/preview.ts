import { sql } from "kysely";
import type { DeletionPreview } from "../wire/logs.ts";
import { logNotFound } from "./errors.ts";
import { findRow } from "./log-rows.ts";
import { isOf, type LogsDatabase, textsOf } from "./logs-database.ts";
import { isOfVisible, type VisibilityFilter } from "./visibility-filter.ts";

/** What goes with entries, as far as it is seen, and what of theirs stays. */
export interface Share {
  readonly episodes: number;
  readonly facts: number;
  /** Said by them and by nothing else that is seen. */
  readonly statements: number;
  readonly entities: number;
  /** Said by them at all. */
  readonly said: number;
  readonly named: number;
}

/**
 * What a deletion would remove now, and what would stay.
 * @throws PosternError `log_not_found`
 */
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

/** Counts what entries say, and what no other entry that is seen says: what is hidden is as if it were not there. */
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
