import type { Kysely, Selectable } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { SessionEvent } from "../wire/events.ts";

/** An event on its way to a webhook. */
export interface WaitingDelivery {
  readonly eventId: string;
  readonly dir: string;
  readonly body: string;
  readonly attempts: number;
}

/** What came of an attempt. */
export interface AttemptOutcome {
  readonly state: "delivered" | "waiting" | "dead";
  readonly at: number;
  /** When it is tried again, if it is. */
  readonly nextAttemptAt: number;
  readonly status: number | null;
  readonly error: string | null;
}

/** SQL of deliveries: durable, in order for each webhook, and bounded. */
export interface DeliveryQueue {
  /** Puts events in, in the transaction that writes them. Every so often prunes with it: a receiver may be away for long. */
  add(
    transaction: Kysely<Tables>,
    entries: readonly { readonly webhookId: string; readonly event: SessionEvent }[],
    at: number,
  ): Promise<void>;
  /**
   * What to send now, or when there will be something: an event that failed a few times holds the later ones back, one that failed often
   * is tried beside them. Null when nothing waits.
   */
  next(webhookId: string, now: number): Promise<WaitingDelivery | { readonly dueAt: number } | null>;
  settle(webhookId: string, delivery: WaitingDelivery, outcome: AttemptOutcome): Promise<void>;
  /** Takes out an event that may not be sent any more. */
  drop(webhookId: string, eventId: string): Promise<void>;
  /** All that wait become due: the receiver is back. */
  wake(webhookId: string, now: number): Promise<void>;
  giveUpAll(webhookId: string, reason: string): Promise<void>;
  /** Dead ones wait again, from their first attempt on. @returns how many */
  revive(webhookId: string, eventIds: readonly string[] | null, now: number): Promise<number>;
  /** Keeps the newest of what is over, and of what waits as much as is allowed; what is too much is given up. */
  prune(webhookId: string): Promise<void>;
}

/** Deliveries kept of each webhook, by state. Ours. */
export const deliveryLimits = { waiting: 10_000, dead: 1_000, delivered: 200 } as const;

// What is too much is looked for after so many events of a webhook, and not at each.
const pruneEvery = 100;

/** A {@link DeliveryQueue} over `webhook_deliveries`. */
export function createDeliveryQueue(
  db: Kysely<Tables>,
  limits: Readonly<Record<keyof typeof deliveryLimits, number>> = deliveryLimits,
): DeliveryQueue {
  /** Events of each webhook since it was pruned. */
  const added = new Map<string, number>();
  const waiting = (webhookId: string) =>
    db.selectFrom("webhook_deliveries").where("webhook_id", "=", webhookId).where("state", "=", "waiting");
  const change = (webhookId: string, on = db) =>
    on.updateTable("webhook_deliveries").where("webhook_id", "=", webhookId);

  async function surplus(
    on: Kysely<Tables>,
    webhookId: string,
    state: keyof typeof deliveryLimits,
  ): Promise<string | null> {
    const row = await on
      .selectFrom("webhook_deliveries")
      .select("event_id")
      .where("webhook_id", "=", webhookId)
      .where("state", "=", state)
      .orderBy("event_id", "desc")
      .offset(limits[state])
      .limit(1)
      .executeTakeFirst();
    return row?.event_id ?? null;
  }

  async function prune(on: Kysely<Tables>, webhookId: string): Promise<void> {
    added.delete(webhookId);
    const tooMany = await surplus(on, webhookId, "waiting");
    if (tooMany !== null) {
      await change(webhookId, on)
        .set({ state: "dead", last_error: `More than ${limits.waiting} events waited.` })
        .where("state", "=", "waiting")
        .where("event_id", "<=", tooMany)
        .execute();
    }
    for (const state of ["dead", "delivered"] as const) {
      const last = await surplus(on, webhookId, state);
      if (last === null) continue;
      await on
        .deleteFrom("webhook_deliveries")
        .where("webhook_id", "=", webhookId)
        .where("state", "=", state)
        .where("event_id", "<=", last)
        .execute();
    }
  }

  return {
    async add(transaction, entries, at) {
      for (const { webhookId, event } of entries) {
        await transaction
          .insertInto("webhook_deliveries")
          .values({
            webhook_id: webhookId,
            event_id: event.id,
            kind: event.kind,
            dir: event.dir,
            body: JSON.stringify(event),
            state: "waiting",
            attempts: 0,
            next_attempt_at: at,
            last_attempt_at: null,
            last_status: null,
            last_error: null,
          })
          .execute();
        added.set(webhookId, (added.get(webhookId) ?? 0) + 1);
      }
      for (const [webhookId, count] of added) if (count >= pruneEvery) await prune(transaction, webhookId);
    },

    async next(webhookId, now) {
      const first = await waiting(webhookId)
        .selectAll()
        .where("attempts", "<", attemptsInOrder)
        .orderBy("event_id")
        .limit(1)
        .executeTakeFirst();
      const aside = await waiting(webhookId)
        .selectAll()
        .where("attempts", ">=", attemptsInOrder)
        .orderBy("next_attempt_at")
        .orderBy("event_id")
        .limit(1)
        .executeTakeFirst();
      const due = [first, aside]
        .filter((row) => row !== undefined)
        .filter((row) => row.next_attempt_at <= now)
        .toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1))[0];
      if (due !== undefined) return toWaiting(due);
      if (first === undefined && aside === undefined) return null;
      return { dueAt: Math.min(first?.next_attempt_at ?? Infinity, aside?.next_attempt_at ?? Infinity) };
    },

    async settle(webhookId, delivery, outcome) {
      await change(webhookId)
        .set({
          state: outcome.state,
          attempts: delivery.attempts + 1,
          next_attempt_at: outcome.nextAttemptAt,
          last_attempt_at: outcome.at,
          last_status: outcome.status,
          last_error: outcome.error,
        })
        .where("event_id", "=", delivery.eventId)
        .execute();
      await db
        .updateTable("webhooks")
        .set((eb) => ({ failures: outcome.state === "delivered" ? 0 : eb("failures", "+", 1) }))
        .where("webhook_id", "=", webhookId)
        .execute();
    },

    async drop(webhookId, eventId) {
      await db
        .deleteFrom("webhook_deliveries")
        .where("webhook_id", "=", webhookId)
        .where("event_id", "=", eventId)
        .execute();
    },

    async wake(webhookId, now) {
      await change(webhookId).set({ next_attempt_at: now }).where("state", "=", "waiting").execute();
    },

    async giveUpAll(webhookId, reason) {
      await change(webhookId).set({ state: "dead", last_error: reason }).where("state", "=", "waiting").execute();
    },

    async revive(webhookId, eventIds, now) {
      let query = change(webhookId)
        .set({ state: "waiting", attempts: 0, next_attempt_at: now })
        .where("state", "=", "dead");
      if (eventIds !== null) query = query.where("event_id", "in", eventIds);
      return Number((await query.executeTakeFirst()).numUpdatedRows);
    },

    prune: (webhookId) => prune(db, webhookId),
  };
}

function toWaiting(row: Selectable<Tables["webhook_deliveries"]>): WaitingDelivery {
  return { eventId: row.event_id, dir: row.dir, body: row.body, attempts: row.attempts };
}

/** Attempts before an event is given up: with the pauses below, over about twenty hours. */
export const maxAttempts = 13;

/**
 * Attempts during which an event holds back the later ones of its webhook, about ten minutes: a receiver that is restarted gets
 * everything in order. After that it is tried beside them, so that one that is always refused does not hold up the rest for a day.
 */
export const attemptsInOrder = 6;

const firstPauseMs = 5_000;
const factor = 3;
const longestPauseMs = 4 * 3_600_000;
// Receivers that fail together shall not be called again together.
const jitter = 0.2;
/** A receiver may ask for a pause, but not for days of them. */
const longestAskedPauseMs = 3_600_000;

/**
 * How long to wait after this many failed attempts.
 *
 * @param options `random` from 0 to 1; `askedMs` what the receiver's `Retry-After` says, null when it does not
 */
export function pauseAfter(
  attempts: number,
  options: { readonly random: number; readonly askedMs: number | null },
): number {
  const plainMs = Math.min(firstPauseMs * factor ** (attempts - 1), longestPauseMs);
  const ownMs = Math.round(plainMs * (1 - jitter + 2 * jitter * options.random));
  return Math.max(ownMs, Math.min(options.askedMs ?? 0, longestAskedPauseMs));
}

/** The milliseconds of a `Retry-After` header; null when there is none that can be read. @see RFC 9110 section 10.2.3 */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
