import { sql } from "kysely";
import { sha256 } from "../core/ids.ts";
import { isOf, itemsOf, type LogsDatabase, numbersOf, textsOf } from "./logs-database.ts";
import { suppressTurns } from "./recorded-turns.ts";

/** Rows that were removed. */
export interface RemovedRows {
  readonly logs: number;
  readonly episodes: number;
  readonly statements: number;
  readonly entities: number;
  readonly facts: number;
}

/** Which entries, and when. */
export interface Removal {
  readonly accountId: string;
  readonly logIds: readonly string[];
  readonly at: number;
}

/**
 * Removes entries with everything that only they said, inside of a transaction. What another entry says too stays: nothing is counted in
 * advance, each row is looked at when it is its turn.
 */
export async function removeLogs(on: LogsDatabase, removal: Removal): Promise<RemovedRows> {
  const derived = await removeFacts(on, removal);
  await removeWords(on, removal);
  const { db, dialect } = on;
  const { accountId, logIds } = removal;
  const ids = textsOf(dialect, logIds);
  const episodes = await sql`delete from episodes where ${isOf(accountId)} and log_id in ${ids}
    returning log_id`.execute(db);
  await suppressRecorded(on, removal);
  await buryLogs(on, removal);
  const logs = await sql`delete from log_entries where ${isOf(accountId)} and log_id in ${ids}
    returning log_id`.execute(db);
  return { logs: logs.rows.length, episodes: episodes.rows.length, ...derived };
}

/** Notes that they are deleted, for a store that is restored from a time when they were not. */
async function buryLogs({ db, dialect }: LogsDatabase, { logIds, at }: Pick<Removal, "logIds" | "at">): Promise<void> {
  const rows = logIds.map((logId) => [sha256(logId), at]);
  await sql`insert into log_tombstones (log_hash, deleted_at)
    select item.value->>0, cast(item.value->>1 as bigint) from ${itemsOf(dialect, rows)} where true
    on conflict (log_hash) do nothing`.execute(db);
}

async function removeFacts(
  { db, dialect }: LogsDatabase,
  { accountId, logIds }: Removal,
): Promise<Pick<RemovedRows, "facts" | "statements" | "entities">> {
  const facts = await sql<{ statement_id: string }>`delete from facts
    where ${isOf(accountId)} and log_id in ${textsOf(dialect, logIds)} returning statement_id`.execute(db);
  const said = new Set(facts.rows.map((row) => row.statement_id));
  const statements = await sql<{ subject_id: string; object_id: string | null }>`delete from statements
    where ${isOf(accountId)} and statement_id in ${textsOf(dialect, said)}
      and not exists (select 1 from facts where facts.statement_id = statements.statement_id)
    returning subject_id, object_id`.execute(db);
  const named = new Set(
    statements.rows.flatMap(({ subject_id, object_id }) =>
      object_id === null ? [subject_id] : [subject_id, object_id],
    ),
  );
  const entities = await sql`delete from entities
    where ${isOf(accountId)} and entity_id in ${textsOf(dialect, named)}
      and not exists (select 1 from statements where statements.subject_id = entities.entity_id)
      and not exists (select 1 from statements where statements.object_id = entities.entity_id)
    returning entity_id`.execute(db);
  return { facts: facts.rows.length, statements: statements.rows.length, entities: entities.rows.length };
}

async function removeWords({ db, dialect }: LogsDatabase, { accountId, logIds }: Removal): Promise<void> {
  const ids = textsOf(dialect, logIds);
  const postings = await sql<{ word_id: number }>`delete from log_postings where chunk_id in
    (select chunk_id from log_chunks where ${isOf(accountId)} and log_id in ${ids}) returning word_id`.execute(db);
  const words = new Set(postings.rows.map((row) => row.word_id));
  await sql`delete from log_words where ${isOf(accountId)} and word_id in ${numbersOf(dialect, words)}
    and not exists (select 1 from log_postings where log_postings.word_id = log_words.word_id)`.execute(db);
  await sql`delete from log_chunks where ${isOf(accountId)} and log_id in ${ids}`.execute(db);
}

/** What was recorded from a session would be recorded again by itself. */
async function suppressRecorded(on: LogsDatabase, { accountId, logIds, at }: Removal): Promise<void> {
  const { rows } = await sql<{ session_id: string; turn_index: number }>`delete from log_turns
    where ${isOf(accountId)} and log_id in ${textsOf(on.dialect, logIds)}
    returning session_id, turn_index`.execute(on.db);
  const bySession = Map.groupBy(rows, ({ session_id }) => session_id);
  for (const [sessionId, turns] of bySession) {
    const indexes = turns.map(({ turn_index }) => turn_index);
    await suppressTurns(on, { accountId, sessionId }, { indexes, at });
  }
}
