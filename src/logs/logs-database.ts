import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Commits, createCommits } from "../storage/commits.ts";
import { compiledQuery, type Slot } from "../storage/compiled-query.ts";
import { durableLater } from "../storage/journal.ts";
import type { Tables } from "../storage/schema.ts";

/** The store, or a transaction of it. */
export interface LogsDatabase {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
}

/** Counts of removed rows. */
export interface RemovedRows {
  readonly logs: number;
  readonly episodes: number;
  readonly statements: number;
  readonly entities: number;
  readonly facts: number;
}

/**
 * Rows in one parameter, named `item`, each a JSON array in `item.value`, so that the statement does not depend on their number.
 * @param json a JSON list of lists without NUL
 */
export function itemsIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<unknown> {
  return dialect === "sqlite"
    ? sql`json_each(${json}) as item`
    : sql`json_array_elements(${json}::json) as item(value)`;
}

/** A list of texts for `in`. */
export function textsOf(dialect: LogsDatabase["dialect"], texts: Iterable<string>): RawBuilder<string> {
  return textsIn(dialect, sql`${JSON.stringify([...texts])}`);
}

/** As {@link textsOf}. @param json a JSON list */
export function textsIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<string> {
  return dialect === "sqlite"
    ? sql`(select value from json_each(${json}))`
    : sql`(select value from json_array_elements_text(${json}::json))`;
}

/** A list of integers for `in`. */
export function numbersOf(dialect: LogsDatabase["dialect"], numbers: Iterable<number>): RawBuilder<number> {
  return numbersIn(dialect, sql`${JSON.stringify([...numbers])}`);
}

/** As {@link numbersOf}. @param json a JSON list */
export function numbersIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<number> {
  return dialect === "sqlite"
    ? sql`(select value from json_each(${json}))`
    : sql`(select cast(value as bigint) as value from json_array_elements_text(${json}::json))`;
}

/** Checks a row's account without its index: SQLite would scan all rows of the account instead of using ids. */
export function isOf(accountId: string | RawBuilder<string>, column = "account_id"): RawBuilder<SqlBool> {
  return sql`${sql.ref(column)} || '' = ${accountId}`;
}

/** Separates these advisory locks from others. */
const lockSpace = 7_177;

/**
 * Runs a write transaction of an account. Transactions of one account run in sequence, because one could remove what another counts as shared.
 * SQLite allows one writer anyway.
 */
export function writeFor<T>(
  { db, dialect }: LogsDatabase,
  accountId: string,
  task: (tx: LogsDatabase) => Promise<T>,
): Promise<T> {
  // Under a stricter default isolation level, PostgreSQL would show the state from before the wait for the lock.
  const transaction = dialect === "postgres" ? db.transaction().setIsolationLevel("read committed") : db.transaction();
  return transaction.execute(async (tx) => {
    if (dialect === "postgres") {
      await sql`select pg_advisory_xact_lock(hashtextextended(${accountId}, ${sql.lit(lockSpace)}))`.execute(tx);
    }
    return task({ db: tx, dialect });
  });
}

/**
 * Like {@link writeFor}, but becomes durable with the next durable transaction. For work that is repeated if lost.
 */
export function writeLaterFor<T>(
  { db, dialect }: LogsDatabase,
  accountId: string,
  task: (tx: LogsDatabase) => Promise<T>,
): Promise<T> {
  if (dialect === "postgres") {
    return writeFor({ db, dialect }, accountId, async (tx) => {
      await sql`set local synchronous_commit = off`.execute(tx.db);
      return task(tx);
    });
  }
  return db.connection().execute(async (connection) => {
    await sql.raw(durableLater).execute(connection);
    return writeFor({ db: connection, dialect }, accountId, task);
  });
}

type LogsQuery<Values, Row> = (on: LogsDatabase, values: Values) => Promise<readonly Row[]>;

/** A statement built once per dialect: an entry takes a dozen statements, and building one takes longer than running it. */
export function logsQuery<Values extends Readonly<Record<string, string | number | null>>, Row = unknown>(
  build: (dialect: LogsDatabase["dialect"], slot: Slot<Values>) => RawBuilder<Row>,
): LogsQuery<Values, Row> {
  const of = (dialect: LogsDatabase["dialect"]) => compiledQuery<Values, Row>((_db, slot) => build(dialect, slot));
  const runs = { sqlite: of("sqlite"), postgres: of("postgres") };
  return async (on, values) => (await runs[on.dialect](on.db, values)).rows;
}

/** Entries per transaction. Each takes milliseconds, and SQLite blocks everything else in the meantime. */
const maxTogether = 16;

/** Runs a task in a write transaction of an account, shared with other tasks. May run a task twice, discarding the first run. */
export type SharedWrite = <T>(accountId: string, task: (tx: LogsDatabase) => Promise<T>) => Promise<T>;

/**
 * Making an entry durable is the main cost, and entries write mostly the same pages, so simultaneous ones share a transaction. On PostgreSQL
 * each account has its own, since accounts write in parallel; there are at most 1,000 accounts.
 */
export function createSharedWrites(on: LogsDatabase): SharedWrite {
  type Task = (tx: LogsDatabase) => Promise<() => void>;
  const all = new Map<string, Commits<Task, () => void>>();

  function commitsOf(accountId: string): Commits<Task, () => void> {
    const key = on.dialect === "sqlite" ? "" : accountId;
    const known = all.get(key);
    if (known !== undefined) return known;
    const commits = createCommits<Task, () => void, LogsDatabase>({
      begin: (task) => writeFor(on, accountId, task),
      apply: (tx, task) => task(tx),
      maxTogether,
    });
    all.set(key, commits);
    return commits;
  }

  return async (accountId, task) => {
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof task>>>();
    const settle = await commitsOf(accountId).add(async (tx) => {
      const result = await task(tx);
      return () => resolve(result);
    });
    settle();
    return promise;
  };
}
