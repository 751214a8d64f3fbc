import { CompiledQuery, type Dialect, PostgresDialect } from "kysely";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createPostgresPool, probeTimeoutMs } from "./postgres-pool.ts";

/** Connections to PostgreSQL. Requests past it wait for one, at most {@link connectTimeoutMs}. */
const maxConnections = 10;
const connectTimeoutMs = 10_000;
/** A statement that takes longer is ended by the server: the store has no long queries. */
const statementTimeoutMs = 30_000;
/** A connection on which nothing came so long after that is dead: its server or the network is gone. */
const answerTimeoutMs = statementTimeoutMs + 5_000;

/** Type numbers of PostgreSQL: `int8` (every time, `count`) and `numeric` (`sum` of them) come as JavaScript numbers. */
const int8Oid = 20;
const numericOid = 1700;

/** What differs for connections beside the store's own. */
export interface PostgresOptions {
  readonly maxConnections?: number;
  /** Names without a schema are looked up here first. */
  readonly firstSchema?: string;
}

/** Kysely over `pg`, which is loaded here and not before. Closing the Kysely instance ends the connections. */
export async function createPostgresDialect(url: string, log: Log, options: PostgresOptions = {}): Promise<Dialect> {
  const { default: pg } = await import("pg");
  const types = new pg.TypeOverrides();
  for (const oid of [int8Oid, numericOid]) types.setTypeParser(oid, "text", Number);
  const newPool = () => {
    const pool = new pg.Pool({
      connectionString: url,
      max: options.maxConnections ?? maxConnections,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      query_timeout: answerTimeoutMs,
      keepAlive: true,
      application_name: "postern",
      types,
    });
    // A connection that breaks while idle says so here; the pool opens another one with the next query.
    pool.on("error", (error) => log.warn({ reason: messageOf(error) }, "lost a connection to PostgreSQL"));
    // One that breaks while in use fails its statement as well; without a listener it would end this process.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  };
  const newProbe = () =>
    new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: probeTimeoutMs,
      query_timeout: probeTimeoutMs,
      application_name: "postern",
    });
  const pool = createPostgresPool({ newPool, newProbe, log });
  const { firstSchema } = options;
  if (firstSchema === undefined) return new PostgresDialect({ pool });
  const path = CompiledQuery.raw(
    "select set_config('search_path', $1 || ',' || current_setting('search_path'), false)",
    [firstSchema],
  );
  return new PostgresDialect({
    pool,
    onCreateConnection: async (connection) => void (await connection.executeQuery(path)),
  });
}
