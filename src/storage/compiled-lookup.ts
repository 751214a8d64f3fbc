import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Tables } from "./schema.ts";

/**
 * A query of one parameter and at most one row, built and compiled once: for what runs with every request, where building it takes
 * longer than the store does.
 *
 * @param build makes the query for a value; the value is its only parameter
 */
export function compiledLookup<Row>(
  db: Kysely<Tables>,
  build: (value: string) => Compilable<Row>,
): (value: string) => Promise<Row | undefined> {
  let compiled: CompiledQuery<Row> | undefined;
  return async (value) => {
    compiled ??= build("").compile();
    if (compiled.parameters.length !== 1) throw new Error(`This takes not one parameter: ${compiled.sql}`);
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters: [value] });
    return rows[0];
  };
}
