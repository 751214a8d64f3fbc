import { type Compilable, type CompiledQuery, type Kysely, type QueryResult, type RawBuilder, sql } from "kysely";
import type { Tables } from "./schema.ts";

/** What a column takes. */
type Stored = string | number | null;

/** Stands in a query for the value of that name. */
export type Slot<Values> = <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>;

/** Runs the query with these values, in a transaction or by itself. */
export type CompiledRun<Values, Row> = (db: Kysely<Tables>, values: Values) => Promise<QueryResult<Row>>;

/** In the place of a value, until the query runs. */
class Empty {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query that is built and compiled once, for what runs with every request: building one takes longer than the store takes to run it.
 *
 * @param build makes it, with a slot for each value; called at the first run, with what that runs on
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
