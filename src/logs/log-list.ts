import { sql } from "kysely";
import { z } from "zod";
import type { ListLogsInput, LogPage } from "../wire/logs.ts";
import { cursorOf, cursorText, readCursor } from "./cursor.ts";
import { entryFilterFor, matchesEntry } from "./entry-filter.ts";
import { entryColumns, toEntry } from "./log-rows.ts";
import type { LogsDatabase } from "./logs-database.ts";
import type { NamesOf } from "./ports.ts";
import type { VisibilityFilter } from "./visibility-filter.ts";

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
