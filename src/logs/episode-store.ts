import { setImmediate as nextTask } from "node:timers/promises";
import { sql } from "kysely";
import { type EntityRef, entityIdOf, statementIdOf, type TaggedAssertion } from "./assertion.ts";
import { chunksOf } from "./episode-text.ts";
import { itemsOf, type LogsDatabase } from "./logs-database.ts";
import type { SearchText } from "./ports.ts";

/** A word in the title says more than one below it. */
const titleWeight = 3;

/** What is stored of an episode. */
export interface Episode {
  readonly accountId: string;
  readonly logId: string;
  readonly characters: number;
  readonly recordedAt: number;
  readonly chunks: readonly CountedChunk[];
  readonly assertions: readonly TaggedAssertion[];
}

/** A piece of text, and how often which word occurs in it. */
export interface CountedChunk {
  readonly content: string;
  readonly words: ReadonlyMap<string, number>;
}

/** The pieces of an episode's text; the title is found with the first of them. */
export function countChunks(text: string, title: string | null, searchText: SearchText): readonly CountedChunk[] {
  const chunks = chunksOf(text);
  return (chunks.length === 0 ? [""] : chunks).map((content, position) => {
    const words = new Map<string, number>();
    const count = (part: string, weight: number): void => {
      for (const word of searchText.words(part)) words.set(word, (words.get(word) ?? 0) + weight);
    };
    if (position === 0 && title !== null) count(title, titleWeight);
    count(content, 1);
    return { content, words };
  });
}

/** Writes an episode with all that is derived from it. What others said before is shared. */
export async function insertEpisode(on: LogsDatabase, episode: Episode): Promise<void> {
  const { accountId, logId, characters, recordedAt } = episode;
  await on.db
    .insertInto("episodes")
    .values({ log_id: logId, account_id: accountId, characters, created_at: recordedAt })
    .execute();
  for (const [position, chunk] of episode.chunks.entries()) {
    // SQLite answers at once: without this, nobody had a turn until a long episode is written.
    if (position > 0) await nextTask();
    await insertChunk(on, { ...episode, position, chunk });
  }
  if (episode.assertions.length > 0) await insertAssertions(on, episode);
}

async function insertChunk(
  on: LogsDatabase,
  { accountId, logId, position, chunk }: Episode & { readonly position: number; readonly chunk: CountedChunk },
): Promise<void> {
  const { db, dialect } = on;
  const { chunk_id } = await db
    .insertInto("log_chunks")
    .values({ log_id: logId, account_id: accountId, position, content: chunk.content })
    .returning("chunk_id")
    .executeTakeFirstOrThrow();
  if (chunk.words.size === 0) return;
  const ids = await wordIdsOf(on, accountId, [...chunk.words.keys()]);
  const postings = Array.from(chunk.words, ([word, occurrences]) => [ids.get(word) ?? 0, occurrences] as const);
  // In the order of the table: neighbours are found at once.
  const ordered = postings.toSorted(([one], [other]) => one - other);
  await sql`insert into log_postings (word_id, chunk_id, occurrences)
    select cast(item.value->>0 as bigint), cast(${chunk_id} as bigint), cast(item.value->>1 as integer)
    from ${itemsOf(dialect, ordered)}`.execute(db);
}

/** The ids of words; those that are new get one. */
async function wordIdsOf(
  { db, dialect }: LogsDatabase,
  accountId: string,
  words: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const listed = (some: readonly string[]) =>
    itemsOf(
      dialect,
      some.map((word) => [word]),
    );
  const known = await sql<{ word_id: number; word: string }>`select w.word_id, w.word
    from ${listed(words)} cross join log_words as w where w.account_id = ${accountId} and w.word = item.value->>0`.execute(
    db,
  );
  const ids = new Map(known.rows.map(({ word_id, word }) => [word, word_id]));
  const missing = words.filter((word) => !ids.has(word));
  if (missing.length === 0) return ids;
  const made = await sql<{ word_id: number; word: string }>`insert into log_words (account_id, word)
    select ${accountId}, item.value->>0 from ${listed(missing)} returning word_id, word`.execute(db);
  for (const { word_id, word } of made.rows) ids.set(word, word_id);
  return ids;
}

async function insertAssertions(
  { db, dialect }: LogsDatabase,
  { accountId, logId, recordedAt, assertions }: Episode,
): Promise<void> {
  const entities = new Map<string, EntityRef>();
  const idOf = (ref: EntityRef): string => {
    const id = entityIdOf(accountId, ref);
    entities.set(id, ref);
    return id;
  };
  const statements = new Map<string, readonly (string | null)[]>();
  const facts = assertions.map((one, position) => {
    const { subject, predicate, object, at, extractor } = one;
    const id = statementIdOf(accountId, one);
    const about = typeof object === "string" ? [null, object] : [idOf(object), null];
    const subjectId = idOf(subject);
    statements.set(id, [id, subjectId, predicate, ...about]);
    return [position, id, subjectId, predicate, at, extractor] as const;
  });
  await sql`insert into entities (entity_id, account_id, type, key)
    select item.value->>0, ${accountId}, item.value->>1, item.value->>2
    from ${itemsOf(
      dialect,
      Array.from(entities, ([id, { type, key }]) => [id, type, key]),
    )} where true on conflict do nothing`.execute(db);
  await sql`insert into statements (statement_id, account_id, subject_id, predicate, object_id, value)
    select item.value->>0, ${accountId}, item.value->>1, item.value->>2, item.value->>3, item.value->>4
    from ${itemsOf(dialect, [...statements.values()])} where true on conflict do nothing`.execute(db);
  await sql`insert into facts (log_id, position, account_id, statement_id, subject_id, predicate, valid_from, recorded_at, extractor)
    select ${logId}, cast(item.value->>0 as integer), ${accountId}, item.value->>1, item.value->>2, item.value->>3,
      cast(item.value->>4 as bigint), cast(${recordedAt} as bigint), item.value->>5
    from ${itemsOf(dialect, facts)}`.execute(db);
}
