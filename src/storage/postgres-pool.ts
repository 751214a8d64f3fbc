import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type { Client, Pool, PoolClient } from "pg";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { postgresFailure, StoreFailure } from "./store-failure.ts";

/** A call that takes longer makes us ask whether the server still answers at all. */
const patienceMs = 3_000;
/** A server that does not answer within this time is taken for unavailable. The client's own timeouts have the same length. */
export const probeTimeoutMs = 3_000;
/** How soon an unavailable server is asked again. */
const probeEveryMs = 1_000;
/** Connections that do not end in this time are left to end with the process. */
const endTimeoutMs = 2_000;

/** What {@link createPostgresPool} needs. */
export interface PostgresPoolDeps {
  readonly newPool: () => Pool;
  /** A client outside the pool, which gives up after {@link probeTimeoutMs}. */
  readonly newProbe: () => Client;
  readonly log: Log;
}

/**
 * A pool whose callers never wait for a server that hangs. A statement may take its time as long as the server answers others. If it
 * does not, everything under way fails, whatever comes fails at once, and the server is asked each second until it answers.
 */
export function createPostgresPool({ newPool, newProbe, log }: PostgresPoolDeps): PostgresPool {
  let pool = newPool();
  let state: "answers" | "hangs" | "closed" = "answers";
  let probing: Promise<void> | undefined;
  /** Statements that the server answered. */
  let answers = 0;
  /** Fails what is under way. */
  const underWay = new Set<(error: StoreFailure) => void>();
  const clients = new WeakMap<PoolClient, PostgresPoolClient>();

  async function probe(): Promise<void> {
    const client = newProbe();
    const before = answers;
    client.on("error", () => undefined); // the call below fails with it
    const trouble = await client
      .connect()
      .then(() => client.query("select 1"))
      .then(
        () => null,
        // An error that the server reports is an answer too.
        (error: unknown) => (error instanceof Error && "severity" in error ? null : error),
      );
    probing = undefined;
    void end(client);
    if (trouble !== null) {
      // Only new connections take long while it answers on others.
      if (state === "answers" && answers === before) giveUp(trouble);
      systemClock.after(probeEveryMs, probeOnce);
    } else if (state === "hangs") {
      log.info({}, "PostgreSQL answers again");
      state = "answers";
    }
  }

  function probeOnce(): void {
    if (state !== "closed") probing ??= probe();
  }

  function giveUp(error: unknown): void {
    log.error({ reason: messageOf(error) }, "PostgreSQL does not answer: requests fail until it does");
    state = "hangs";
    const old = pool;
    pool = newPool(); // connections that are idle now may be as dead
    void end(old);
    const failure = new StoreFailure(error);
    for (const fail of underWay) fail(failure);
  }

  async function answered<T>(ask: () => Promise<T>): Promise<T> {
    if (state === "hangs") throw new StoreFailure(new Error("PostgreSQL does not answer."));
    const failed = Promise.withResolvers<never>();
    underWay.add(failed.reject);
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
      underWay.delete(failed.reject);
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

/** Ends it, and waits for the server's answer to that for a while. */
async function end(connection: Pick<Pool | Client, "end">): Promise<void> {
  const waited = Promise.withResolvers<void>();
  const cancel = systemClock.after(endTimeoutMs, () => waited.resolve());
  const ended = connection.end().catch(() => undefined); // it was broken already
  await Promise.race([ended, waited.promise]);
  cancel();
}
