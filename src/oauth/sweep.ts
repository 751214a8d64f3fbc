import { type Kysely, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { lifetimes } from "./lifetimes.ts";

export interface SweepDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  /** Looks after the signing keys. */
  readonly rotate: () => Promise<void>;
}

/** Removes what is over, in the running gateway. */
export interface Sweep {
  start(): void;
  /** Once, to the end. @returns how many rows went */
  run(): Promise<number>;
  /** Idempotent; waits for the step that runs. */
  close(): Promise<void>;
}

const minuteMs = 60_000;
/** A start has more urgent things to do. */
const firstMs = minuteMs;
const stepMs = 10 * minuteMs;
/** Rows of one step: a few milliseconds, in which this process does nothing else with SQLite. */
const batchRows = 200;
/** After each step others have their turn: a million rows take some minutes. */
const pauseMs = 20;
/** A device that asks late learns that its code is over (RFC 8628 `expired_token`), not that there never was one. */
const graceMs = 10 * minuteMs;

export function createSweep({ db, clock, log, rotate }: SweepDeps): Sweep {
  const stopping = new AbortController();
  let cancel: (() => void) | undefined;
  let running: Promise<unknown> | undefined;

  async function records(): Promise<bigint> {
    const over = db
      .selectFrom("oauth_records")
      .select(["id_hash", "kind"])
      .where("expires_at", "<=", clock.now() - graceMs)
      .limit(batchRows);
    const { numDeletedRows } = await db
      .deleteFrom("oauth_records")
      .where(({ eb, refTuple }) => eb(refTuple("id_hash", "kind"), "in", over.$asTuple("id_hash", "kind")))
      .executeTakeFirst();
    return numDeletedRows;
  }

  /** Clients that registered themselves: those that were never let in, and those that nobody lets in any more. */
  async function clients(): Promise<bigint> {
    const now = clock.now();
    const idle = db
      .selectFrom("oauth_clients as client")
      .select("client.client_id")
      .where("client.origin", "!=", "added")
      .where((eb) =>
        eb.or([
          eb.and([
            eb("client.last_used_at", "is", null),
            eb("client.created_at", "<=", now - lifetimes.unusedClientMs),
          ]),
          eb("client.last_used_at", "<=", now - lifetimes.idleClientMs),
        ]),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("oauth_records as held")
              .select(sql<number>`1`.as("one"))
              .whereRef("held.client_id", "=", "client.client_id")
              .where("held.kind", "=", "Grant"),
          ),
        ),
      )
      .limit(batchRows);
    const { numDeletedRows } = await db.deleteFrom("oauth_clients").where("client_id", "in", idle).executeTakeFirst();
    return numDeletedRows;
  }

  async function run(): Promise<number> {
    let total = 0;
    for (const step of [records, clients]) {
      for (let removed = BigInt(batchRows); removed >= batchRows && !stopping.signal.aborted; ) {
        removed = await step();
        total += Number(removed);
        if (removed >= batchRows) await clock.sleep(pauseMs, stopping.signal).catch(() => undefined);
      }
    }
    return total;
  }

  async function work(): Promise<void> {
    try {
      await rotate();
      const removed = await run();
      if (removed > 0) log.info({ removed }, "removed expired records of the authorization server");
    } catch (error) {
      // The next step tries again.
      log.error({ reason: messageOf(error) }, "cannot remove expired records of the authorization server");
    }
    schedule(stepMs);
  }

  function schedule(delayMs: number): void {
    if (stopping.signal.aborted) return;
    cancel = clock.after(delayMs, () => {
      running = work();
    });
  }

  return {
    run,
    start: () => schedule(firstMs),
    async close() {
      stopping.abort();
      cancel?.();
      await running;
    },
  };
}
