import { sql } from "kysely";
import type { DeletionPreview } from "../wire/logs.ts";
import { logNotFound } from "./errors.ts";
import { findRow } from "./log-rows.ts";
import { isOf, type LogsDatabase } from "./logs-database.ts";

/**
 * What a deletion would remove now, and what would stay.
 * @throws PosternError `log_not_found`
 */
export async function previewDeletion(on: LogsDatabase, accountId: string, logId: string): Promise<DeletionPreview> {
  if ((await findRow(on, accountId, logId)) === null) throw logNotFound();
  const { rows } = await sql<Record<"episodes" | "facts" | "said" | "statements" | "named" | "entities", number>>`
    with said as (select distinct statement_id from facts where log_id = ${logId} and ${isOf(accountId)}),
    doomed as (select s.* from statements as s join said on said.statement_id = s.statement_id
      where not exists (select 1 from facts as f where f.statement_id = s.statement_id and f.log_id <> ${logId})),
    named as (select s.subject_id as entity_id from statements as s join said on said.statement_id = s.statement_id
      union select s.object_id from statements as s join said on said.statement_id = s.statement_id where s.object_id is not null)
    select
      (select count(*) from episodes where log_id = ${logId} and ${isOf(accountId)}) as episodes,
      (select count(*) from facts where log_id = ${logId} and ${isOf(accountId)}) as facts,
      (select count(*) from said) as said, (select count(*) from doomed) as statements,
      (select count(*) from named) as named,
      (select count(*) from named where not exists (select 1 from statements as s
        where (s.subject_id = named.entity_id or s.object_id = named.entity_id)
          and s.statement_id not in (select statement_id from doomed))) as entities`.execute(on.db);
  const [counts] = rows;
  const { episodes = 0, facts = 0, said = 0, statements = 0, named = 0, entities = 0 } = counts ?? {};
  return {
    logId,
    removed: { episode: episodes > 0, statements, entities, facts },
    shared: { statements: said - statements, entities: named - entities },
  };
}
