import type { RawBuilder } from "kysely";
import { compiledQuery, type Slot } from "../storage/compiled-query.ts";
import type { LogsDatabase } from "./logs-database.ts";

/** Runs a statement with these values, and gives the rows that it returns. */
export type LogsQuery<Values, Row> = (on: LogsDatabase, values: Values) => Promise<readonly Row[]>;

/** A statement that is built once for each kind of store: what is remembered or deleted takes a dozen, and building one takes longer than running it. */
export function logsQuery<Values extends Readonly<Record<string, string | number | null>>, Row = unknown>(
  build: (dialect: LogsDatabase["dialect"], slot: Slot<Values>) => RawBuilder<Row>,
): LogsQuery<Values, Row> {
  const of = (dialect: LogsDatabase["dialect"]) => compiledQuery<Values, Row>((_db, slot) => build(dialect, slot));
  const runs = { sqlite: of("sqlite"), postgres: of("postgres") };
  return async (on, values) => (await runs[on.dialect](on.db, values)).rows;
}
