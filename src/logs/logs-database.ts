import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { durableLater } from "../storage/journal.ts";
import type { Tables } from "../storage/schema.ts";

/** The store, or a transaction of it. */
export interface LogsDatabase {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
}

/** Rows that were removed. */
export interface RemovedRows {
  readonly logs: number;
  readonly episodes: number;
  readonly statements: number;
  readonly entities: number;
  readonly facts: number;
}

/**
 * Rows as one parameter, named `item`, each a JSON array in `item.value`: any number of them is the same statement.
 * @param json a JSON list of lists; no text in it holds a NUL
 */
export function itemsIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<unknown> {
  return dialect === "sqlite"
    ? sql`json_each(${json}) as item`
    : sql`json_array_elements(${json}::json) as item(value)`;
}

/** A list of texts, as a query that `in` takes. */
export function textsOf(dialect: LogsDatabase["dialect"], texts: Iterable<string>): RawBuilder<string> {
  return textsIn(dialect, sql`${JSON.stringify([...texts])}`);
}

/** As {@link textsOf}. @param json a JSON list */
export function textsIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<string> {
  return dialect === "sqlite"
    ? sql`(select value from json_each(${json}))`
    : sql`(select value from json_array_elements_text(${json}::json))`;
}

/** A list of whole numbers, as a query that `in` takes. */
export function numbersOf(dialect: LogsDatabase["dialect"], numbers: Iterable<number>): RawBuilder<number> {
  return numbersIn(dialect, sql`${JSON.stringify([...numbers])}`);
}

/** As {@link numbersOf}. @param json a JSON list */
export function numbersIn(dialect: LogsDatabase["dialect"], json: RawBuilder<unknown>): RawBuilder<number> {
  return dialect === "sqlite"
    ? sql`(select value from json_each(${json}))`
    : sql`(select cast(value as bigint) as value from json_array_elements_text(${json}::json))`;
}

/** That a row is the account's, for rows that are found by their ids: SQLite would rather go through all rows of the account. */
export function isOf(accountId: string | RawBuilder<string>, column = "account_id"): RawBuilder<SqlBool> {
  return sql`${sql.ref(column)} || '' = ${accountId}`;
}

/** Told from other uses of advisory locks. */
const lockSpace = 7_177;

/**
 * A transaction that writes for an account. Those of one account take turns: what one counts as shared, another may be about to
 * remove. SQLite lets one write at a time anyway.
 */
export function writeFor<T>(
  { db, dialect }: LogsDatabase,
  accountId: string,
  task: (tx: LogsDatabase) => Promise<T>,
): Promise<T> {
  // By default PostgreSQL may be set to show what was there before the wait for others: the lock would be for nothing.
  const transaction = dialect === "postgres" ? db.transaction().setIsolationLevel("read committed") : db.transaction();
  return transaction.execute(async (tx) => {
    if (dialect === "postgres") {
      await sql`select pg_advisory_xact_lock(hashtextextended(${accountId}, ${sql.lit(lockSpace)}))`.execute(tx);
    }
    return task({ db: tx, dialect });
  });
}

/**
 * As {@link writeFor}, for what is done again when it is lost: it is brought to the disk with the next transaction of others that is, not
 * for itself.
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
