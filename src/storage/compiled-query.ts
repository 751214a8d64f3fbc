import { type Compilable, type CompiledQuery, type Kysely, type QueryResult, type RawBuilder, sql } from "kysely";
import type { Tables } from "./schema.ts";

type Stored = string | number | null;

/** A placeholder in a query for the value of that name. */
export type Slot<Values> = <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>;

/** Runs the query, in a transaction or not. */
export type CompiledRun<Values, Row> = (db: Kysely<Tables>, values: Values) => Promise<QueryResult<Row>>;

/** Replaced by a value when the query runs. */
class Empty {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query that is compiled once and used by every request, because building a query takes longer than running it.
 * @param build called at the first run; makes the query with a slot for each value
 */
export function compiledQuery<Values extends Readonly<Record<string, Stored>>, Row = unknown>(
  build: (db: Kysely<Tables>, slot: Slot<Values>) => Compilable<Row> | RawBuilder<Row>,
): CompiledRun<Values, Row> {
  let compiled: CompiledQuery<Row> | undefined;
  return async (db, values) => {
    compiled ??= build(db, (name) => sql`${new Empty(name)}`).compile(db);
    const parameters = compiled.parameters.map((value) => (value instanceof Empty ? values[value.name] : value));
    return db.executeQuery<Row>({ ...compiled, parameters });
  };
}

/**
 * Like {@link compiledQuery}, for a query with one parameter that returns at most one row.
 * @param build makes the query for a value, its only parameter
 */
export function compiledLookup<Row>(
  db: Kysely<Tables>,
  build: (value: string) => Compilable<Row>,
): (value: string) => Promise<Row | undefined> {
  let compiled: CompiledQuery<Row> | undefined;
  return async (value) => {
    compiled ??= build("").compile();
    if (compiled.parameters.length !== 1) throw new Error(`Expected exactly one parameter: ${compiled.sql}`);
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters: [value] });
    return rows[0];
  };
}
