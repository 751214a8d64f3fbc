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
  /** Rotates the signing keys. */
  readonly rotate: () => Promise<void>;
}

/** Removes expired records while the gateway runs. */
export interface Sweep {
  start(): void;
  /** Runs once, until nothing is left. @returns the number of removed rows */
  run(): Promise<number>;
  /** Idempotent; waits for the current step. */
  close(): Promise<void>;
}

const minuteMs = 60_000;
/** The first sweep waits, because a starting gateway has more urgent work. */
const firstMs = minuteMs;
const stepMs = 10 * minuteMs;
/** Rows of one step: it blocks this process's use of SQLite for a few milliseconds. */
const batchRows = 200;
/** A pause after each step lets other work run; a million rows take some minutes. */
const pauseMs = 20;
/** A device that polls late gets `expired_token` (RFC 8628), not an error for an unknown code. */
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

  /** Removes clients that the owner did not add and that were never authorized, or have not been used for a long time. */
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
      // The next run tries again.
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
