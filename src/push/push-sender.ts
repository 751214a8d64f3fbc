import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Gate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { Caller } from "../wire/caller.ts";
import type { PushKind, PushMessage, PushPreferences } from "../wire/push.ts";
import type { ActionTokens } from "./action-tokens.ts";
import { type Composed, compose } from "./compose.ts";
import type { NoticeQueue, WaitingNotice } from "./notice-queue.ts";
import type { CallerOf, ReadSession, SeenSession } from "./ports.ts";
import type { PreferenceStore } from "./preferences.ts";
import type { Posted, PushPost } from "./push-post.ts";
import { quietUntil } from "./quiet-hours.ts";
import type { StoredSubscription, SubscriptionStore } from "./subscription-store.ts";

export interface PushSenderDeps {
  readonly subscriptions: SubscriptionStore;
  readonly preferences: PreferenceStore;
  readonly queue: NoticeQueue;
  readonly actions: ActionTokens;
  readonly post: PushPost;
  readonly callerOf: CallerOf;
  readonly readSession: ReadSession;
  /** Bounds requests at once, of all browsers. */
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
}

/** The pause after a failure of the store. */
const retryStoreMs = 5_000;
const firstPauseMs = 5_000;
const longestPauseMs = 30 * 60_000;
/** The longest pause that a push service can ask for. */
const longestAskedPauseMs = 3_600_000;
/** Limit for texts that come from a transcript. */
const maxTitleCharacters = 100;

/** Sends the notifications of each browser, one at a time, independently of the others. */
export function createPushSender(deps: PushSenderDeps) {
  const { subscriptions, preferences, queue, clock, log } = deps;
  const stopping = new AbortController();
  const running = new Map<string, Promise<void>>();
  /** Browsers woken while being served. */
  const again = new Set<string>();
  const timers = new Map<string, () => void>();

  function wake(subscriptionId: string): void {
    timers.get(subscriptionId)?.();
    timers.delete(subscriptionId);
    if (stopping.signal.aborted) return;
    if (running.has(subscriptionId)) {
      again.add(subscriptionId);
      return;
    }
    const serving = serve(subscriptionId)
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        log.warn({ subscriptionId, reason: messageOf(error) }, "cannot send notifications to a browser; retrying");
        wakeAt(subscriptionId, clock.now() + retryStoreMs);
      })
      .finally(() => {
        running.delete(subscriptionId);
        if (again.delete(subscriptionId)) wake(subscriptionId);
      });
    running.set(subscriptionId, serving);
  }

  function wakeAt(subscriptionId: string, at: number): void {
    if (stopping.signal.aborted) return;
    timers.get(subscriptionId)?.();
    const delayMs = Math.max(0, at - clock.now());
    timers.set(
      subscriptionId,
      clock.after(delayMs, () => wake(subscriptionId)),
    );
  }

  async function serve(subscriptionId: string): Promise<void> {
    while (!stopping.signal.aborted) {
      const waiting = await queue.waiting(subscriptionId);
      const [first] = waiting;
      if (first === undefined) return;
      const now = clock.now();
      if (first.dueAt > now) return wakeAt(subscriptionId, first.dueAt);
      const subscription = await subscriptions.find(subscriptionId);
      if (subscription === null) return;
      const caller = await deps.callerOf(subscription.subscriber, { acting: false });
      if (caller === null || !caller.scopes.has("coding:read")) {
        // Signed out, revoked, or without its scope: only this browser is concerned.
        await subscriptions.remove(subscriptionId);
        return;
      }
      const wanted = await preferences.get(subscription.subscriber.accountId);
      const context = { subscription, caller, wanted };
      const due = waiting.filter(({ dueAt }) => dueAt <= now);
      if (!(await hold(due, wanted, now))) await deps.gate.run(() => sendDue(due, context));
    }
  }

  /** @returns whether quiet hours hold back one of them */
  async function hold(due: readonly WaitingNotice[], wanted: PushPreferences, now: number): Promise<boolean> {
    const until = wanted.quietHours === null ? null : quietUntil(wanted.quietHours, now);
    const loud = due.filter(({ reason }) => reason !== "check");
    if (until === null || loud.length === 0) return false;
    for (const notice of loud) await queue.postpone(notice, { ...notice, dueAt: until, held: true });
    return true;
  }

  async function sendDue(due: readonly WaitingNotice[], context: Context): Promise<void> {
    const held = due.filter((notice) => notice.held);
    const [first] = due;
    if (held.length >= 2) await sendSummary(held, context);
    else if (first !== undefined) await sendOne(first, context);
  }

  async function sendOne(notice: WaitingNotice, context: Context): Promise<void> {
    const { composed, session } = await look(notice, context);
    if (composed.action === "drop") return queue.settle(notice, null);
    if (composed.action === "keep") return queue.settle(notice, notice.shown);
    const message =
      composed.action === "withdraw"
        ? withdrawal(notice, context.subscription)
        : await noticeMessage(notice, { ...context, composed, session });
    const posted = await post(context.subscription, message, notice);
    if (posted.outcome === "again") return retry(notice, posted);
    const shows = composed.action === "notify" ? composed.shows : null;
    if (posted.outcome !== "gone") await queue.settle(notice, shows);
  }

  /** After quiet hours: one notification for all sessions that still matter. */
  async function sendSummary(held: readonly WaitingNotice[], context: Context): Promise<void> {
    const counts: Partial<Record<PushKind, number>> = {};
    const told: WaitingNotice[] = [];
    for (const notice of held) {
      const { composed } = await look(notice, context);
      if (composed.action === "notify") {
        counts[composed.kind] = (counts[composed.kind] ?? 0) + 1;
        told.push(notice);
      } else if (composed.action === "withdraw") {
        await queue.postpone(notice, { ...notice, held: false });
      } else {
        await queue.settle(notice, notice.shown);
      }
    }
    const [only] = told;
    if (only === undefined) return;
    if (told.length === 1) return queue.postpone(only, { ...only, held: false });
    const posted = await post(context.subscription, { type: "summary", counts }, { ...only, sessionId: "summary" });
    for (const notice of told) {
      if (posted.outcome === "again") await retry(notice, posted);
      else if (posted.outcome !== "gone") await queue.settle(notice, notice.shown);
    }
  }

  async function look(notice: WaitingNotice, { caller, wanted }: Context) {
    const session = await deps.readSession(notice.sessionId, caller, stopping.signal);
    const isLate = notice.reason !== "check" && notice.expiresAt <= clock.now();
    const composed: Composed = isLate
      ? { action: notice.shown === null ? "drop" : "withdraw" }
      : compose(notice, session, wanted);
    return { composed, session };
  }

  async function noticeMessage(
    { sessionId, subscriptionId }: WaitingNotice,
    context: Context & { readonly composed: Composed & { action: "notify" }; readonly session: SeenSession | null },
  ): Promise<PushMessage> {
    const { composed, session, wanted, caller } = context;
    const { kind, permissionId, silent, request } = composed;
    const mayAnswer = request !== null && permissionId !== null && caller.scopes.has("coding:drive");
    return {
      type: "notice",
      kind,
      sessionId,
      permissionId,
      ...(silent ? { silent } : {}),
      ...(wanted.showTitles && session !== null ? { agent: session.agent, title: shortLine(session.title ?? "") } : {}),
      ...(request === null ? {} : { request }),
      ...(mayAnswer ? { actions: await deps.actions.issue({ subscriptionId, sessionId, permissionId }) } : {}),
    };
  }

  /** Removes a browser that its push service no longer knows, and records the outcome for all others. */
  async function post(
    subscription: StoredSubscription,
    message: PushMessage,
    notice: Pick<WaitingNotice, "sessionId" | "expiresAt">,
  ): Promise<Posted> {
    const ttlMs = Math.max(notice.expiresAt - clock.now(), 0);
    const posted = await deps.post(subscription.target, message, {
      ttlMs,
      topic: notice.sessionId,
      signal: stopping.signal,
    });
    stopping.signal.throwIfAborted(); // the outcome is unknown: it is sent again
    const { subscriptionId } = subscription;
    if (posted.outcome === "gone") {
      await subscriptions.remove(subscriptionId);
      log.info({ subscriptionId }, "removed a browser that its push service no longer knows");
    } else {
      await subscriptions.noteSent(subscriptionId, posted.error);
    }
    return posted;
  }

  async function retry(notice: WaitingNotice, { retryAfterMs }: Posted): Promise<void> {
    const attempts = notice.attempts + 1;
    const pauseMs = Math.min(firstPauseMs * 3 ** (attempts - 1), longestPauseMs);
    const askedMs = Math.min(retryAfterMs ?? 0, longestAskedPauseMs);
    const dueAt = clock.now() + Math.max(pauseMs, askedMs);
    if (dueAt >= notice.expiresAt) return queue.settle(notice, notice.shown);
    await queue.postpone(notice, { dueAt, attempts, held: notice.held });
  }

  return {
    /** Sends what is due for this browser. */
    wake,
    /** Sends a message now, outside of the queue. */
    send: (subscription: StoredSubscription, message: PushMessage): Promise<Posted> =>
      deps.gate.run(() => post(subscription, message, { sessionId: message.type, expiresAt: clock.now() + 60_000 })),
    /** Aborts requests, which are repeated after the next start. Idempotent. */
    async close(): Promise<void> {
      stopping.abort();
      for (const cancel of timers.values()) cancel();
      timers.clear();
      await Promise.all(running.values());
    },
  };
}

interface Context {
  readonly subscription: StoredSubscription;
  readonly caller: Caller;
  readonly wanted: PushPreferences;
}

/** Safari revokes the permission of pages that receive messages without showing a notification. */
const strictServices = /(^|\.)push\.apple\.com$/;

function withdrawal({ sessionId }: WaitingNotice, { target }: StoredSubscription): PushMessage {
  return { type: "withdraw", sessionId, mustShow: strictServices.test(new URL(target.endpoint).hostname) };
}

/** Text from a transcript, as one line. */
function shortLine(text: string): string {
  const line = text.replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]+/gu, " ").trim();
  const characters = Array.from(line);
  return characters.length <= maxTitleCharacters ? line : `${characters.slice(0, maxTitleCharacters - 1).join("")}…`;
}
