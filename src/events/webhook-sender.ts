import type { Clock } from "../core/clock.ts";
import { isPosternError, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import type { FetchedAnswer, GuardedFetch } from "../platform/guarded-fetch.ts";
import type { AttemptResult } from "../wire/events.ts";
import {
  type AttemptOutcome,
  attemptsInOrder,
  type DeliveryQueue,
  maxAttempts,
  pauseAfter,
  type WaitingDelivery,
} from "./delivery-queue.ts";
import type { IsVisibleDir } from "./event-stream.ts";
import { type StoredWebhook, signedHeaders, type WebhookStore } from "./webhook-store.ts";

interface WebhookSenderDeps {
  readonly webhooks: WebhookStore;
  readonly queue: DeliveryQueue;
  readonly fetch: GuardedFetch;
  readonly isVisible: IsVisibleDir;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** The pause after a failure of the store. */
const retryStoreMs = 5_000;
const pruneEvery = 100;

interface Attempt extends AttemptResult {
  readonly retryAfterMs: number | null;
}

/** Delivers events one at a time for each webhook, independently of the others. */
export function createWebhookSender(deps: WebhookSenderDeps) {
  const { webhooks, queue, clock, log } = deps;
  const stopping = new AbortController();
  const running = new Map<string, Promise<void>>();
  /** Webhooks woken while being served. */
  const again = new Set<string>();
  const timers = new Map<string, () => void>();
  const settled = new Map<string, number>();

  function wake(webhookId: string): void {
    timers.get(webhookId)?.();
    timers.delete(webhookId);
    if (stopping.signal.aborted) return;
    if (running.has(webhookId)) {
      again.add(webhookId);
      return;
    }
    const serving = serve(webhookId)
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        log.warn({ webhookId, reason: messageOf(error) }, "cannot deliver to a webhook; retrying");
        wakeAt(webhookId, clock.now() + retryStoreMs);
      })
      .finally(() => {
        running.delete(webhookId);
        if (again.delete(webhookId)) wake(webhookId);
      });
    running.set(webhookId, serving);
  }

  function wakeAt(webhookId: string, at: number): void {
    if (stopping.signal.aborted) return;
    timers.get(webhookId)?.();
    const delayMs = Math.max(0, at - clock.now());
    timers.set(
      webhookId,
      clock.after(delayMs, () => wake(webhookId)),
    );
  }

  async function serve(webhookId: string): Promise<void> {
    while (!stopping.signal.aborted) {
      const webhook = await webhooks.find(webhookId, null);
      if (webhook === null || webhook.disabled) return;
      const next = await queue.next(webhookId, clock.now());
      if (next === null) return;
      if ("dueAt" in next) return wakeAt(webhookId, next.dueAt);
      await deliver(webhook, next);
    }
  }

  async function deliver(webhook: StoredWebhook, delivery: WaitingDelivery): Promise<void> {
    const { webhookId } = webhook;
    // Checked at each attempt: the folder may have been removed since.
    if (!(await deps.isVisible(delivery.dir, webhook.folders))) return queue.drop(webhookId, delivery.eventId);
    const result = await attempt(webhook, { id: delivery.eventId, body: delivery.body });
    if (stopping.signal.aborted) return; // the outcome is unknown: it is sent again
    const outcome = outcomeOf(delivery, result);
    await queue.settle(webhookId, delivery, outcome);
    const fields = { webhookId, eventId: delivery.eventId, status: result.status, attempts: delivery.attempts + 1 };
    if (outcome.state === "dead")
      log.warn({ ...fields, reason: result.error }, "gave up on delivering an event to a webhook");
    // After this many failures in a row, the receiver was down, so events that were set aside are due now.
    if (result.ok && webhook.failures >= attemptsInOrder) await queue.wake(webhookId, clock.now());
    if (result.status === 410) await disable(webhookId);
    await pruneSometimes(webhookId);
  }

  function outcomeOf(delivery: WaitingDelivery, result: Attempt): AttemptOutcome {
    const { ok, status, error } = result;
    const now = clock.now();
    if (ok) return { state: "delivered", at: now, nextAttemptAt: now, status, error };
    const attempts = delivery.attempts + 1;
    const pauseMs = pauseAfter(attempts, { random: deps.random(), askedMs: result.retryAfterMs });
    return {
      state: attempts >= maxAttempts ? "dead" : "waiting",
      at: now,
      nextAttemptAt: now + pauseMs,
      status,
      error,
    };
  }

  async function disable(webhookId: string): Promise<void> {
    const reason = "The receiver answered 410 Gone, so the webhook was disabled.";
    await webhooks.disable(webhookId, reason, clock.now());
    await queue.giveUpAll(webhookId, reason);
    await queue.prune(webhookId);
    log.warn({ webhookId }, "disabled a webhook because its receiver answered 410 Gone");
  }

  async function pruneSometimes(webhookId: string): Promise<void> {
    const count = (settled.get(webhookId) ?? 0) + 1;
    settled.set(webhookId, count % pruneEvery);
    if (count >= pruneEvery) await queue.prune(webhookId);
  }

  async function attempt(
    webhook: StoredWebhook,
    message: { readonly id: string; readonly body: string },
  ): Promise<Attempt> {
    const startedAt = clock.now();
    const finished = (result: Omit<Attempt, "durationMs">): Attempt => ({
      ...result,
      durationMs: clock.now() - startedAt,
    });
    try {
      const answer = await deps.fetch(webhook.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...signedHeaders(webhook.openSecret(), { ...message, at: startedAt }),
        },
        body: message.body,
        signal: stopping.signal,
      });
      return finished(judge(answer, clock.now()));
    } catch (error) {
      if (!isPosternError(error)) throw error;
      return finished({ ok: false, status: null, error: error.message, retryAfterMs: null });
    }
  }

  return {
    /** Sends due deliveries of this webhook. */
    wake,
    /** Sends one request now, outside the queue. */
    attempt: async (
      webhook: StoredWebhook,
      message: { readonly id: string; readonly body: string },
    ): Promise<AttemptResult> => {
      const { retryAfterMs: _, ...result } = await attempt(webhook, message);
      return result;
    },
    /** Aborts attempts, which are repeated after the next start. Idempotent. */
    async close(): Promise<void> {
      stopping.abort();
      for (const cancel of timers.values()) cancel();
      timers.clear();
      await Promise.all(running.values());
    },
  };
}

/** Only 2xx counts as received. */
function judge(answer: FetchedAnswer, now: number): Omit<Attempt, "durationMs"> {
  const { status, headers } = answer;
  const ok = status >= 200 && status < 300;
  const error = ok ? null : `The receiver answered ${status}.`;
  return { ok, status, error, retryAfterMs: retryAfterMs(headers.get("retry-after"), now) };
}
