import { setImmediate as nextTask } from "node:timers/promises";
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

/** Rows that one statement removes: some milliseconds, in which SQLite lets nothing else go on. */
const rowsAtOnce = 500;
/** Each has some hundred words. */
const chunksAtOnce = 2;
/** Each has a text of up to a megabyte. */
const entriesAtOnce = 4;
/** Small ones are many to a piece. */
const entriesOfAccountAtOnce = 50;

/** Which entries, and when. */
export interface Removal {
  readonly accountId: string;
  readonly logIds: readonly string[];
  readonly at: number;
}

/**
 * Removes entries with everything that only they said, inside of a transaction. What another entry says too stays: nothing is counted in
 * advance, each row is looked at when it is its turn. However much it is, it goes in pieces, between which others have their turns.
 */
export async function removeLogs(on: LogsDatabase, removal: Removal): Promise<RemovedRows> {
  const derived = await removeFacts(on, removal);
  await removeWords(on, removal);
  const { db, dialect } = on;
  const { accountId, logIds } = removal;
  let [logs, episodes] = [0, 0];
  await inPieces(logIds, entriesAtOnce, async (some) => {
    const ids = textsOf(dialect, some);
    const gone = await sql`delete from episodes where ${isOf(accountId)} and log_id in ${ids}
      returning log_id`.execute(db);
    episodes += gone.rows.length;
    await suppressRecorded(on, { ...removal, logIds: some });
    await buryLogs(on, { ...removal, logIds: some });
    const entries = await sql`delete from log_entries where ${isOf(accountId)} and log_id in ${ids}
      returning log_id`.execute(db);
    logs += entries.rows.length;
  });
  return { logs, episodes, ...derived };
}

/** All of an account's memory, inside of a transaction, in pieces too. */
export async function removeAllLogs(on: LogsDatabase, { accountId, at }: Omit<Removal, "logIds">): Promise<void> {
  const { db } = on;
  for (;;) {
    const { rows } = await sql<{ log_id: string }>`select log_id from log_entries where account_id = ${accountId}
      order by observed_at, log_id limit ${sql.lit(entriesOfAccountAtOnce)}`.execute(db);
    if (rows.length === 0) break;
    await removeLogs(on, { accountId, logIds: rows.map(({ log_id }) => log_id), at });
    await nextTask();
  }
  for (const table of ["log_words", "log_suppressions"] as const) {
    await sql`delete from ${sql.table(table)} where account_id = ${accountId}`.execute(db);
  }
}

/** One piece after the other; who has something else to do does it in between. */
async function inPieces<T>(
  all: readonly T[],
  atOnce: number,
  task: (some: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < all.length; from += atOnce) {
    if (from > 0) await nextTask();
    await task(all.slice(from, from + atOnce));
  }
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
  const removed = { facts: 0, statements: 0, entities: 0 };
  const said = new Set<string>();
  await inPieces(logIds, entriesOfAccountAtOnce, async (some) => {
    const ids = textsOf(dialect, some);
    for (;;) {
      const facts = await sql<{ statement_id: string }>`delete from facts where (log_id, position) in
        (select log_id, position from facts where ${isOf(accountId)} and log_id in ${ids} limit ${sql.lit(rowsAtOnce)})
        returning statement_id`.execute(db);
      for (const row of facts.rows) said.add(row.statement_id);
      removed.facts += facts.rows.length;
      if (facts.rows.length < rowsAtOnce) break;
      await nextTask();
    }
  });
  const named = new Set<string>();
  await inPieces([...said], rowsAtOnce, async (some) => {
    const statements = await sql<{ subject_id: string; object_id: string | null }>`delete from statements
      where ${isOf(accountId)} and statement_id in ${textsOf(dialect, some)}
        and not exists (select 1 from facts where facts.statement_id = statements.statement_id)
      returning subject_id, object_id`.execute(db);
    for (const { subject_id, object_id } of statements.rows) {
      named.add(subject_id);
      if (object_id !== null) named.add(object_id);
    }
    removed.statements += statements.rows.length;
  });
  await inPieces([...named], rowsAtOnce, async (some) => {
    const entities = await sql`delete from entities
      where ${isOf(accountId)} and entity_id in ${textsOf(dialect, some)}
        and not exists (select 1 from statements where statements.subject_id = entities.entity_id)
        and not exists (select 1 from statements where statements.object_id = entities.entity_id)
      returning entity_id`.execute(db);
    removed.entities += entities.rows.length;
  });
  return removed;
}

async function removeWords({ db, dialect }: LogsDatabase, { accountId, logIds }: Removal): Promise<void> {
  const chunks = await sql<{ chunk_id: number }>`select chunk_id from log_chunks
    where ${isOf(accountId)} and log_id in ${textsOf(dialect, logIds)}`.execute(db);
  const words = new Set<number>();
  const chunkIds = chunks.rows.map(({ chunk_id }) => chunk_id);
  await inPieces(chunkIds, chunksAtOnce, async (some) => {
    const ids = numbersOf(dialect, some);
    const postings = await sql<{ word_id: number }>`delete from log_postings where chunk_id in ${ids}
      returning word_id`.execute(db);
    for (const { word_id } of postings.rows) words.add(word_id);
    await sql`delete from log_chunks where chunk_id in ${ids}`.execute(db);
  });
  await inPieces([...words], rowsAtOnce, async (some) => {
    await sql`delete from log_words where ${isOf(accountId)} and word_id in ${numbersOf(dialect, some)}
      and not exists (select 1 from log_postings where log_postings.word_id = log_words.word_id)`.execute(db);
  });
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
