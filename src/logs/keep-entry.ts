import { sql } from "kysely";
import { type Derivable, episodeOf } from "./episode.ts";
import { type Episode, insertEpisode } from "./episode-store.ts";
import { insertEntry, type LogRow } from "./log-rows.ts";
import type { LogsDatabase } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { SearchText } from "./ports.ts";

/**
 * Entries of one account that wait for the extractor. Each is a question to a model that the owner pays for: who may write entries
 * must not be able to run up any bill in a minute. Ours.
 */
export const maxPending = 100;

/** Of an entry beyond {@link maxPending}. */
const tooManyWait = `${maxPending} entries wait for the extractor already: this one has the facts of the rules alone.`;

const findPending = logsQuery<{ accountId: string }>(
  (_dialect, slot) => sql`select log_id from log_entries where account_id = ${slot("accountId")} and status = 'pending'
    limit ${sql.lit(maxPending)}`,
);

/** An entry that is made now. */
export interface NewEntry {
  readonly of: Derivable;
  readonly row: LogRow;
  /** Null when it waits for the extractor. */
  readonly episode: Episode | null;
  /** The turns that it holds of its session. */
  readonly indexes: readonly number[];
}

/** Writes an entry with what is derived from it, and says how it was written: when too many wait, this one waits for nothing. */
export async function keepEntry(
  tx: LogsDatabase,
  { of, row, episode, indexes }: NewEntry,
  searchText: SearchText,
): Promise<LogRow> {
  const isTooMany = episode === null && (await findPending(tx, of)).length >= maxPending;
  const kept = isTooMany ? { ...row, status: "failed" as const, failure: tooManyWait } : row;
  await insertEntry(tx, kept, indexes);
  const derived = isTooMany ? episodeOf(of, searchText) : episode;
  if (derived !== null) await insertEpisode(tx, derived);
  return kept;
}
