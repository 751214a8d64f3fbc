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

/** The result of an attempt. */
export interface AttemptOutcome {
  readonly state: "delivered" | "waiting" | "dead";
  readonly at: number;
  /** When to retry, if at all. */
  readonly nextAttemptAt: number;
  readonly status: number | null;
  readonly error: string | null;
}

/** Deliveries kept for each webhook, by state. */
const deliveryLimits = { waiting: 10_000, dead: 1_000, delivered: 200 } as const;

/** Events of a webhook between two prunings. */
const pruneEvery = 100;

/** SQL of deliveries: durable, in order for each webhook, and bounded. */
export function createDeliveryQueue(
  db: Kysely<Tables>,
  limits: Readonly<Record<keyof typeof deliveryLimits, number>> = deliveryLimits,
) {
  /** Events of each webhook since its last pruning. */
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
        .set({ state: "dead", last_error: `More than ${limits.waiting} events were waiting.` })
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
    /** Adds events in the transaction that writes them. Prunes regularly, because a receiver can be down for long. */
    async add(
      transaction: Kysely<Tables>,
      entries: readonly { readonly webhookId: string; readonly event: SessionEvent }[],
      at: number,
    ): Promise<void> {
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

    /**
     * The delivery to send now, or when the next is due; null if none is waiting. An event that failed a few times holds back later ones;
     * one that failed often is retried alongside them.
     */
    async next(webhookId: string, now: number): Promise<WaitingDelivery | { readonly dueAt: number } | null> {
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

    async settle(webhookId: string, delivery: WaitingDelivery, outcome: AttemptOutcome): Promise<void> {
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

    /** Removes an event that must no longer be sent. */
    async drop(webhookId: string, eventId: string): Promise<void> {
      await db
        .deleteFrom("webhook_deliveries")
        .where("webhook_id", "=", webhookId)
        .where("event_id", "=", eventId)
        .execute();
    },

    /** Makes all waiting deliveries due: the receiver is back. */
    async wake(webhookId: string, now: number): Promise<void> {
      await change(webhookId).set({ next_attempt_at: now }).where("state", "=", "waiting").execute();
    },

    async giveUpAll(webhookId: string, reason: string): Promise<void> {
      await change(webhookId).set({ state: "dead", last_error: reason }).where("state", "=", "waiting").execute();
    },

    /** Queues dead deliveries again. @returns how many */
    async revive(webhookId: string, eventIds: readonly string[] | null, now: number): Promise<number> {
      let query = change(webhookId)
        .set({ state: "waiting", attempts: 0, next_attempt_at: now })
        .where("state", "=", "dead");
      if (eventIds !== null) query = query.where("event_id", "in", eventIds);
      return Number((await query.executeTakeFirst()).numUpdatedRows);
    },

    /** Applies {@link deliveryLimits}: deletes old finished deliveries and gives up surplus waiting ones. */
    prune: (webhookId: string): Promise<void> => prune(db, webhookId),
  };
}

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

function toWaiting(row: Selectable<Tables["webhook_deliveries"]>): WaitingDelivery {
  return { eventId: row.event_id, dir: row.dir, body: row.body, attempts: row.attempts };
}

/** Attempts before giving up on an event: about twenty hours, with the pauses below. */
export const maxAttempts = 13;

/**
 * Attempts during which an event holds back later ones, about ten minutes: a receiver that restarts gets everything in order. After
 * that, an event that is always rejected does not hold up the rest.
 */
export const attemptsInOrder = 6;

const firstPauseMs = 5_000;
const factor = 3;
const longestPauseMs = 4 * 3_600_000;
/** Keeps webhooks that fail together from retrying together. */
const jitter = 0.2;
/** The longest pause a receiver can ask for. */
const longestAskedPauseMs = 3_600_000;

/** The pause after failed attempts. @param options `random` from 0 to 1; `askedMs` from `Retry-After`, null if absent */
export function pauseAfter(
  attempts: number,
  options: { readonly random: number; readonly askedMs: number | null },
): number {
  const plainMs = Math.min(firstPauseMs * factor ** (attempts - 1), longestPauseMs);
  const ownMs = Math.round(plainMs * (1 - jitter + 2 * jitter * options.random));
  return Math.max(ownMs, Math.min(options.askedMs ?? 0, longestAskedPauseMs));
}
