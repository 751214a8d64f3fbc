import { setImmediate as nextTask } from "node:timers/promises";
import { sql } from "kysely";
import { type EntityRef, entityIdOf, statementIdOf } from "./assertion.ts";
import { insertEntry, type LogRow } from "./entries.ts";
import { type CountedChunk, type Derivable, type Episode, episodeOf } from "./episode.ts";
import { itemsIn, type LogsDatabase, logsQuery, textsIn } from "./logs-database.ts";
import type { SearchText } from "./ports.ts";

const addEpisode = logsQuery<{ logId: string; accountId: string; characters: number; recordedAt: number }>(
  (_dialect, slot) => sql`insert into episodes (log_id, account_id, characters, created_at)
    values (${slot("logId")}, ${slot("accountId")}, ${slot("characters")}, ${slot("recordedAt")})`,
);
const addChunk = logsQuery<
  { logId: string; accountId: string; position: number; content: string },
  { chunk_id: number }
>(
  (_dialect, slot) => sql`insert into log_chunks (log_id, account_id, position, content)
    values (${slot("logId")}, ${slot("accountId")}, ${slot("position")}, ${slot("content")}) returning chunk_id`,
);
const addPostings = logsQuery<{ chunkId: number; rows: string }>(
  (dialect, slot) => sql`insert into log_postings (word_id, chunk_id, occurrences)
    select cast(item.value->>0 as bigint), cast(${slot("chunkId")} as bigint), cast(item.value->>1 as integer)
    from ${itemsIn(dialect, slot("rows"))}`,
);
const findWords = logsQuery<{ accountId: string; words: string }, { word_id: number; word: string }>(
  (dialect, slot) => sql`select w.word_id, w.word
    from ${textsIn(dialect, slot("words"))} as item cross join log_words as w
    where w.account_id = ${slot("accountId")} and w.word = item.value`,
);
const addWords = logsQuery<{ accountId: string; words: string }, { word_id: number; word: string }>(
  (dialect, slot) => sql`insert into log_words (account_id, word)
    select ${slot("accountId")}, item.value from ${textsIn(dialect, slot("words"))} as item returning word_id, word`,
);
/** `rows` is a JSON list. */
type Derived = { accountId: string; rows: string };
const addEntities = logsQuery<Derived>(
  (dialect, slot) => sql`insert into entities (entity_id, account_id, type, key)
    select item.value->>0, ${slot("accountId")}, item.value->>1, item.value->>2
    from ${itemsIn(dialect, slot("rows"))} where true on conflict do nothing`,
);
const addStatements = logsQuery<Derived>(
  (dialect, slot) => sql`insert into statements (statement_id, account_id, subject_id, predicate, object_id, value)
    select item.value->>0, ${slot("accountId")}, item.value->>1, item.value->>2, item.value->>3, item.value->>4
    from ${itemsIn(dialect, slot("rows"))} where true on conflict do nothing`,
);
const addFacts = logsQuery<Derived & { logId: string; recordedAt: number }>(
  (dialect, slot) => sql`insert into facts
      (log_id, position, account_id, statement_id, subject_id, predicate, valid_from, recorded_at, extractor)
    select ${slot("logId")}, cast(item.value->>0 as integer), ${slot("accountId")}, item.value->>1, item.value->>2,
      item.value->>3, cast(item.value->>4 as bigint), cast(${slot("recordedAt")} as bigint), item.value->>5
    from ${itemsIn(dialect, slot("rows"))}`,
);

/** Writes an episode and its facts. Existing statements and entities are shared. */
export async function insertEpisode(on: LogsDatabase, episode: Episode): Promise<void> {
  const { accountId, logId, characters, recordedAt } = episode;
  await addEpisode(on, { logId, accountId, characters, recordedAt });
  for (const [position, chunk] of episode.chunks.entries()) {
    // SQLite is synchronous: without this, a long episode would block the process.
    if (position > 0) await nextTask();
    await insertChunk(on, { ...episode, position, chunk });
  }
  if (episode.assertions.length > 0) await insertAssertions(on, episode);
}

async function insertChunk(
  on: LogsDatabase,
  { accountId, logId, position, chunk }: Episode & { readonly position: number; readonly chunk: CountedChunk },
): Promise<void> {
  const [row] = await addChunk(on, { logId, accountId, position, content: chunk.content });
  if (row === undefined || chunk.words.size === 0) return;
  const ids = await wordIdsOf(on, accountId, [...chunk.words.keys()]);
  const postings = Array.from(chunk.words, ([word, occurrences]) => [ids.get(word) ?? 0, occurrences] as const);
  // In table order, which keeps inserts local.
  const ordered = postings.toSorted(([one], [other]) => one - other);
  await addPostings(on, { chunkId: row.chunk_id, rows: JSON.stringify(ordered) });
}

/** Finds or creates the ids of words. */
async function wordIdsOf(
  on: LogsDatabase,
  accountId: string,
  words: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const known = await findWords(on, { accountId, words: JSON.stringify(words) });
  const ids = new Map(known.map(({ word_id, word }) => [word, word_id]));
  const missing = words.filter((word) => !ids.has(word));
  if (missing.length === 0) return ids;
  for (const { word_id, word } of await addWords(on, { accountId, words: JSON.stringify(missing) }))
    ids.set(word, word_id);
  return ids;
}

async function insertAssertions(
  on: LogsDatabase,
  { accountId, logId, recordedAt, assertions }: Episode,
): Promise<void> {
  const entities = new Map<string, readonly [id: string, type: string, key: string]>();
  const idOf = (ref: EntityRef): string => {
    const name = `${ref.type}:${ref.key}`;
    const known = entities.get(name);
    if (known !== undefined) return known[0];
    const id = entityIdOf(accountId, ref);
    entities.set(name, [id, ref.type, ref.key]);
    return id;
  };
  const statements = new Map<string, readonly (string | null)[]>();
  const facts = assertions.map((one, position) => {
    const { subject, predicate, object, at, extractor } = one;
    const subjectId = idOf(subject);
    const id = statementIdOf(subjectId, one);
    const about = typeof object === "string" ? [null, object] : [idOf(object), null];
    statements.set(id, [id, subjectId, predicate, ...about]);
    return [position, id, subjectId, predicate, at, extractor] as const;
  });
  await addEntities(on, { accountId, rows: JSON.stringify([...entities.values()]) });
  await addStatements(on, { accountId, rows: JSON.stringify([...statements.values()]) });
  await addFacts(on, { accountId, logId, recordedAt, rows: JSON.stringify(facts) });
}

/** Entries per account that wait for the extractor. Bounds what a caller can spend on the owner's model. */
export const maxPending = 100;

const tooManyWait = `${maxPending} entries are already waiting for the extractor, so this one only has the facts that the rules found.`;

const findPending = logsQuery<{ accountId: string }>(
  (_dialect, slot) => sql`select log_id from log_entries where account_id = ${slot("accountId")} and status = 'pending'
    limit ${sql.lit(maxPending)}`,
);

export interface NewEntry {
  readonly of: Derivable;
  readonly row: LogRow;
  /** Null while it waits for the extractor. */
  readonly episode: Episode | null;
  /** The session turns it holds. */
  readonly indexes: readonly number[];
}

/** Writes an entry with its episode. If too many entries are pending, it skips the extractor. @returns the row as written */
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
