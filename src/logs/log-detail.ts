import type { LogDetail, LogEntity } from "../wire/logs.ts";
import { logNotFound } from "./errors.ts";
import { findFacts } from "./facts.ts";
import { bodyOfRow, findRow, toEntry } from "./log-rows.ts";
import type { LogsDatabase } from "./logs-database.ts";
import type { VisibilityFilter } from "./visibility-filter.ts";

const maxFacts = 1_000;

/**
 * An entry with what was derived from it.
 * @throws PosternError `log_not_found`
 */
export async function readLog(on: LogsDatabase, visibility: VisibilityFilter, logId: string): Promise<LogDetail> {
  const row = await findRow(on, visibility, logId);
  if (row === null) throw logNotFound();
  const episode = await on.db
    .selectFrom("episodes")
    .select(({ selectFrom }) => [
      "characters",
      selectFrom("log_chunks")
        .select(({ fn }) => fn.countAll<number>().as("chunks"))
        .whereRef("log_chunks.log_id", "=", "episodes.log_id")
        .as("chunks"),
    ])
    .where("log_id", "=", logId)
    .where("account_id", "=", visibility.accountId)
    .executeTakeFirst();
  const { facts } = await findFacts(on, visibility, { logId, limit: maxFacts });
  const entities = new Map<string, LogEntity>();
  for (const { subject, object } of facts) {
    for (const entity of object === null ? [subject] : [subject, object]) entities.set(entity.entityId, entity);
  }
  const body = bodyOfRow(row);
  return {
    ...toEntry(row),
    content: body.form === "text" ? body.text : null,
    turns: body.form === "turns" ? [...body.turns] : null,
    episode: episode === undefined ? null : { characters: episode.characters, chunks: episode.chunks ?? 0 },
    facts,
    entities: [...entities.values()],
  };
}
