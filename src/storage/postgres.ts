import {
  CompiledQuery,
  type Dialect,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from "kysely";
import type { Client, Pool, PoolClient } from "pg";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { postgresFailure, StoreFailure } from "./store-failure.ts";

/** Further requests wait for a connection, at most {@link connectTimeoutMs}. */
const maxConnections = 10;
const connectTimeoutMs = 10_000;
/** The server cancels longer statements; no statement of the store takes this long. */
const statementTimeoutMs = 30_000;
/** A connection that does not answer for this long is dead. */
const answerTimeoutMs = statementTimeoutMs + 5_000;

/** `int8` (times, `count`) and `numeric` (`sum` of them) are parsed as JavaScript numbers. */
const int8Oid = 20;
const numericOid = 1700;

export interface PostgresOptions {
  readonly maxConnections?: number;
  /** First in the search path. */
  readonly firstSchema?: string;
}

/** Kysely over `pg`, loaded on use. Closing the Kysely instance ends the connections. */
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
    // Emitted for a broken idle connection; the pool opens another with the next query.
    pool.on("error", (error) => log.warn({ reason: messageOf(error) }, "lost a connection to PostgreSQL"));
    // Without a listener, a connection that breaks in use would end this process; the statement itself still fails.
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

/** A longer call triggers a probe of the server. */
const patienceMs = 3_000;
/** A server that does not answer a probe within this time is unavailable. */
export const probeTimeoutMs = 3_000;
/** Interval of probes of an unavailable server. */
const probeEveryMs = 1_000;
/** Connections that take longer to close end with the process. */
const endTimeoutMs = 2_000;

interface PostgresPoolDeps {
  readonly newPool: () => Pool;
  /** A client outside the pool that times out after {@link probeTimeoutMs}. */
  readonly newProbe: () => Client;
  readonly log: Log;
}

/**
 * A pool whose callers never wait for a hanging server. A slow statement can continue while the server answers probes. Otherwise all
 * pending and new calls fail at once, and the server is probed each second until it answers.
 */
function createPostgresPool({ newPool, newProbe, log }: PostgresPoolDeps): PostgresPool {
  let pool = newPool();
  let state: "answers" | "hangs" | "closed" = "answers";
  let probing: Promise<void> | undefined;
  /** Number of answered statements. */
  let answers = 0;
  /** Rejects the pending calls. */
  const pending = new Set<(error: StoreFailure) => void>();
  const clients = new WeakMap<PoolClient, PostgresPoolClient>();

  async function probe(): Promise<void> {
    const client = newProbe();
    const before = answers;
    client.on("error", () => undefined); // reported by the call below
    const trouble = await client
      .connect()
      .then(() => client.query("select 1"))
      .then(
        () => null,
        // An error reported by the server is an answer too.
        (error: unknown) => (error instanceof Error && "severity" in error ? null : error),
      );
    probing = undefined;
    void end(client);
    if (trouble !== null) {
      // If another statement was answered, only new connections are slow.
      if (state === "answers" && answers === before) giveUp(trouble);
      systemClock.after(probeEveryMs, probeOnce);
    } else if (state === "hangs") {
      log.info({}, "PostgreSQL responds again");
      state = "answers";
    }
  }

  function probeOnce(): void {
    if (state !== "closed") probing ??= probe();
  }

  function giveUp(error: unknown): void {
    log.error({ reason: messageOf(error) }, "PostgreSQL does not respond; requests fail until it does");
    state = "hangs";
    const old = pool;
    pool = newPool(); // idle connections may be dead too
    void end(old);
    const failure = new StoreFailure(error);
    for (const fail of pending) fail(failure);
  }

  async function answered<T>(ask: () => Promise<T>): Promise<T> {
    if (state === "hangs") throw new StoreFailure(new Error("PostgreSQL does not respond."));
    const failed = Promise.withResolvers<never>();
    pending.add(failed.reject);
    let cancel = (): void => undefined;
    const watch = (): void => {
      cancel = systemClock.after(patienceMs, () => {
        probeOnce();
        watch();
      });
    };
    watch();
    try {
      return await Promise.race([ask(), failed.promise]);
    } catch (error) {
      throw postgresFailure(error);
    } finally {
      cancel();
      pending.delete(failed.reject);
    }
  }

  function guarded(client: PostgresPoolClient): PostgresPoolClient {
    let broken = false;
    async function ask<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
      try {
        const result = await answered(() => client.query<R>(sql, parameters));
        answers += 1;
        return result;
      } catch (error) {
        broken ||= error instanceof StoreFailure;
        throw error;
      }
    }
    function query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
    function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
    function query<R>(asked: string | PostgresCursor<R>, parameters: readonly unknown[] = []) {
      return typeof asked === "string" ? ask<R>(asked, parameters) : client.query(asked);
    }
    return { query, release: (destroy = false) => client.release(destroy || broken) };
  }

  return {
    get options() {
      return pool.options;
    },
    async connect() {
      const from = pool;
      const asked = from.connect();
      const client = await answered(() => asked).catch((error: unknown) => {
        asked.then(
          (late) => late.release(true),
          () => undefined,
        );
        throw error;
      });
      const known = clients.get(client) ?? guarded(client);
      clients.set(client, known);
      return known;
    },
    async end() {
      state = "closed";
      await end(pool);
    },
  };
}

/** Closes a connection, waiting a bounded time. */
async function end(connection: Pick<Pool | Client, "end">): Promise<void> {
  const waited = Promise.withResolvers<void>();
  const cancel = systemClock.after(endTimeoutMs, () => waited.resolve());
  const ended = connection.end().catch(() => undefined); // already broken
  await Promise.race([ended, waited.promise]);
  cancel();
}
