import { sql } from "kysely";
import { z } from "zod";
import type { ListLogsInput, LogDetail, LogEntity, LogPage } from "../wire/logs.ts";
import { cursorOf, cursorText, readCursor } from "./cursor.ts";
import { logNotFound } from "./errors.ts";
import { findFacts } from "./facts.ts";
import { bodyOfRow, entryColumns, findRow, toEntry } from "./log-rows.ts";
import type { LogsDatabase } from "./logs-database.ts";
import type { NamesOf } from "./ports.ts";
import { entryFilterFor, matchesEntry, type VisibilityFilter } from "./visibility-filter.ts";

const defaultLimit = 50;
/** When the last entry was, and its id. */
const placeSchema = z.tuple([z.int(), cursorText]);

/**
 * The entries that are seen, the newest first.
 * @throws PosternError `invalid_request` for a cursor that is none
 */
export async function listLogs(
  on: LogsDatabase & { readonly namesOf: NamesOf },
  visibility: VisibilityFilter,
  { limit = defaultLimit, cursor, ...filter }: ListLogsInput,
): Promise<LogPage> {
  const entries = await entryFilterFor(on, visibility, filter);
  const before = cursor === undefined ? null : readCursor(cursor, placeSchema);
  const rows = await on.db
    .selectFrom("log_entries")
    .select(entryColumns)
    .where("account_id", "=", visibility.accountId)
    .where(matchesEntry(on, entries))
    .$if(before !== null, (query) =>
      query.where(sql<boolean>`(observed_at, log_id) < (cast(${before?.[0]} as bigint), ${before?.[1]})`),
    )
    .orderBy("observed_at", "desc")
    .orderBy("log_id", "desc")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { logs: page.map(toEntry), nextCursor: more ? cursorOf([last.observed_at, last.log_id]) : null };
}

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
