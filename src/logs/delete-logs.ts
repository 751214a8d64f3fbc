import { setImmediate as nextTask } from "node:timers/promises";
import { sql } from "kysely";
import { sha256 } from "../core/ids.ts";
import { isOf, itemsIn, type LogsDatabase, logsQuery, numbersIn, type RemovedRows, textsIn } from "./logs-database.ts";
import { suppressTurns } from "./recorded-turns.ts";

/**
 * How much one statement deletes. Chunks hold some hundred words, entries up to a megabyte of text. A statement blocks everything else on
 * SQLite, so it should take milliseconds; on PostgreSQL, each one is a round trip.
 */
const pieces = {
  sqlite: { rows: 500, chunks: 2, entries: 4 },
  postgres: { rows: 5_000, chunks: 50, entries: 50 },
} as const;
const entriesOfAccountAtOnce = 50;

export interface Removal {
  readonly accountId: string;
  readonly logIds: readonly string[];
  readonly at: number;
}

/** `ids` is a JSON list. */
type Some = { readonly accountId: string; readonly ids: string };

const deleteEpisodes = logsQuery<Some, { log_id: string }>(
  (
    dialect,
    slot,
  ) => sql`delete from episodes where ${isOf(slot("accountId"))} and log_id in ${textsIn(dialect, slot("ids"))}
    returning log_id`,
);
const deleteEntries = logsQuery<Some, { log_id: string }>(
  (
    dialect,
    slot,
  ) => sql`delete from log_entries where ${isOf(slot("accountId"))} and log_id in ${textsIn(dialect, slot("ids"))}
    returning log_id`,
);
const deleteTurns = logsQuery<Some, { session_id: string; turn_index: number }>(
  (
    dialect,
    slot,
  ) => sql`delete from log_turns where ${isOf(slot("accountId"))} and log_id in ${textsIn(dialect, slot("ids"))}
    returning session_id, turn_index`,
);
const insertTombstones = logsQuery<{ readonly rows: string }>(
  (dialect, slot) => sql`insert into log_tombstones (log_hash, deleted_at)
    select item.value->>0, cast(item.value->>1 as bigint) from ${itemsIn(dialect, slot("rows"))} where true
    on conflict (log_hash) do nothing`,
);
const deleteFacts = logsQuery<Some & { readonly first: number; readonly end: number }, { statement_id: string }>(
  (
    dialect,
    slot,
  ) => sql`delete from facts where ${isOf(slot("accountId"))} and log_id in ${textsIn(dialect, slot("ids"))}
    and position >= ${slot("first")} and position < ${slot("end")} returning statement_id`,
);
const deleteOrphanStatements = logsQuery<Some, { subject_id: string; object_id: string | null }>(
  (dialect, slot) => sql`delete from statements
    where ${isOf(slot("accountId"))} and statement_id in ${textsIn(dialect, slot("ids"))}
      and not exists (select 1 from facts where facts.statement_id = statements.statement_id)
    returning subject_id, object_id`,
);
/** A subject's statements are found through its facts. */
const deleteOrphanEntities = logsQuery<Some, { entity_id: string }>(
  (dialect, slot) => sql`delete from entities
    where account_id = ${slot("accountId")} and entity_id in ${textsIn(dialect, slot("ids"))}
      and not exists (select 1 from facts where facts.subject_id = entities.entity_id)
      and not exists (select 1 from statements where statements.object_id = entities.entity_id)
    returning entity_id`,
);
const deleteChunks = logsQuery<Some, { chunk_id: number }>(
  (dialect, slot) => sql`delete from log_chunks
    where ${isOf(slot("accountId"))} and log_id in ${textsIn(dialect, slot("ids"))} returning chunk_id`,
);
const deletePostings = logsQuery<{ readonly ids: string }, { word_id: number }>(
  (dialect, slot) =>
    sql`delete from log_postings where chunk_id in ${numbersIn(dialect, slot("ids"))} returning word_id`,
);
const deleteOrphanWords = logsQuery<Some>(
  (dialect, slot) => sql`delete from log_words
    where ${isOf(slot("accountId"))} and word_id in ${numbersIn(dialect, slot("ids"))}
      and not exists (select 1 from log_postings where log_postings.word_id = log_words.word_id)`,
);

/** Deletes entries, and what only they refer to, within a transaction. Works in small steps and yields to other tasks in between. */
export async function removeLogs(on: LogsDatabase, removal: Removal): Promise<RemovedRows> {
  const derived = await removeFacts(on, removal);
  await removeWords(on, removal);
  const { accountId, logIds } = removal;
  let [logs, episodes] = [0, 0];
  await inPieces(logIds, pieces[on.dialect].entries, async (some) => {
    const of = { accountId, ids: JSON.stringify(some) };
    episodes += (await deleteEpisodes(on, of)).length;
    await suppressRecorded(on, { ...removal, logIds: some });
    await writeTombstones(on, { ...removal, logIds: some });
    logs += (await deleteEntries(on, of)).length;
  });
  return { logs, episodes, ...derived };
}

/** Deletes an account's whole memory within a transaction, also in steps. */
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

/** Runs a task on slices, yielding to other tasks in between. */
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

/** Records deleted entries, so that restoring an older backup deletes them again. */
async function writeTombstones(on: LogsDatabase, { logIds, at }: Pick<Removal, "logIds" | "at">): Promise<void> {
  await insertTombstones(on, { rows: JSON.stringify(logIds.map((logId) => [sha256(logId), at])) });
}

async function removeFacts(
  on: LogsDatabase,
  { accountId, logIds }: Removal,
): Promise<Pick<RemovedRows, "facts" | "statements" | "entities">> {
  const removed = { facts: 0, statements: 0, entities: 0 };
  const said = new Set<string>();
  await inPieces(logIds, entriesOfAccountAtOnce, async (some) => {
    const ids = JSON.stringify(some);
    const step = Math.ceil(pieces[on.dialect].rows / some.length);
    for (let first = 0; ; first += step) {
      const facts = await deleteFacts(on, { accountId, ids, first, end: first + step });
      for (const { statement_id } of facts) said.add(statement_id);
      removed.facts += facts.length;
      if (facts.length < step) break; // positions are consecutive: no entry has more
      await nextTask();
    }
  });
  const named = new Set<string>();
  await inPieces([...said], pieces[on.dialect].rows, async (some) => {
    const statements = await deleteOrphanStatements(on, { accountId, ids: JSON.stringify(some) });
    for (const { subject_id, object_id } of statements) {
      named.add(subject_id);
      if (object_id !== null) named.add(object_id);
    }
    removed.statements += statements.length;
  });
  await inPieces([...named], pieces[on.dialect].rows, async (some) => {
    removed.entities += (await deleteOrphanEntities(on, { accountId, ids: JSON.stringify(some) })).length;
  });
  return removed;
}

async function removeWords(on: LogsDatabase, { accountId, logIds }: Removal): Promise<void> {
  const words = new Set<number>();
  await inPieces(logIds, pieces[on.dialect].entries, async (entries) => {
    const chunks = await deleteChunks(on, { accountId, ids: JSON.stringify(entries) });
    const chunkIds = chunks.map(({ chunk_id }) => chunk_id);
    await inPieces(chunkIds, pieces[on.dialect].chunks, async (some) => {
      for (const { word_id } of await deletePostings(on, { ids: JSON.stringify(some) })) words.add(word_id);
    });
  });
  await inPieces([...words], pieces[on.dialect].rows, async (some) => {
    await deleteOrphanWords(on, { accountId, ids: JSON.stringify(some) });
  });
}

/** Keeps the recorder from recording these turns again. */
async function suppressRecorded(on: LogsDatabase, { accountId, logIds, at }: Removal): Promise<void> {
  const rows = await deleteTurns(on, { accountId, ids: JSON.stringify(logIds) });
  const bySession = Map.groupBy(rows, ({ session_id }) => session_id);
  for (const [sessionId, turns] of bySession) {
    const indexes = turns.map(({ turn_index }) => turn_index);
    await suppressTurns(on, { accountId, sessionId }, { indexes, at });
  }
}
