import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { GuardedFetch } from "../platform/guarded-fetch.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";
import type {
  AddPushSubscriptionInput,
  PushActionOutput,
  PushPreferences,
  PushSubscriptionRecord,
  PushTestOutput,
} from "../wire/push.ts";
import { createActionTokens } from "./action-tokens.ts";
import { followSessions } from "./follow-sessions.ts";
import { createNoticeQueue } from "./notice-queue.ts";
import type { AnswerPermission, CallerOf, FollowEvents, ReadSession, Subscriber } from "./ports.ts";
import { createPreferenceStore } from "./preferences.ts";
import { createPushPost } from "./push-post.ts";
import { checkKeys } from "./push-request.ts";
import { createPushSender } from "./push-sender.ts";
import { createSubscriptionStore, type SubscriptionOwner } from "./subscription-store.ts";
import { createVapidKeys } from "./vapid-keys.ts";

export type { Subscriber } from "./ports.ts";
export type { SubscriptionOwner } from "./subscription-store.ts";

/** Codes that push throws. */
export type PushErrorCode =
  | "invalid_request"
  | "insufficient_scope"
  | "push_subscription_not_found"
  | "push_endpoint_refused"
  | "push_action_gone";

/** What an action of a notification did, for the audit log. */
export interface TakenAction extends PushActionOutput {
  readonly accountId: string;
  readonly subscriptionId: string;
  readonly permissionId: string;
}

/** Web Push: notifications about sessions in browsers, even when no page is open. */
export interface Push {
  /** The gateway's VAPID key, base64url. */
  publicKey(): Promise<string>;
  /**
   * Adds a browser, or updates its subscription.
   * @throws PosternError `push_endpoint_refused` for an endpoint that nothing can reach, `invalid_request` for invalid keys, too many
   *   browsers, or another account's browser
   */
  subscribe(subscriber: Subscriber, input: AddPushSubscriptionInput): Promise<PushSubscriptionRecord>;
  list(owner: SubscriptionOwner): Promise<readonly PushSubscriptionRecord[]>;
  /** @throws PosternError `push_subscription_not_found` */
  remove(owner: SubscriptionOwner, subscriptionId: string): Promise<void>;
  /** Sends a test notification now. @throws PosternError `push_subscription_not_found` */
  test(owner: SubscriptionOwner, subscriptionId: string): Promise<PushTestOutput>;
  preferences(accountId: string): Promise<PushPreferences>;
  setPreferences(accountId: string, preferences: PushPreferences): Promise<void>;
  /** A page of the account is visible on a desktop browser. */
  notePresence(accountId: string): void;
  /**
   * Redeems the single-use token of a notification's action, as the account that the notification was sent to.
   * @throws PosternError `push_action_gone` for a token that is unknown, used or expired, or whose browser is signed out;
   *   `insufficient_scope`; and the errors of answering a permission request
   */
  act(token: string): Promise<TakenAction>;
  /** Something was answered: withdraws notifications that are outdated. Never throws. */
  sessionChanged(sessionId: string): Promise<void>;
  /** Removes everything that mentions a session by any of its ids. */
  forget(sessionIds: readonly string[]): Promise<void>;
  /** Follows sessions, and sends notifications that are still pending. */
  start(): void;
  /** Unsent notifications are sent after the next start. Idempotent. */
  close(): Promise<void>;
}

export interface PushDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretBox;
  readonly fetch: GuardedFetch;
  /** Contact of the gateway's operator for push services: an https or mailto URL. */
  readonly subject: () => string;
  readonly callerOf: CallerOf;
  readonly readSession: ReadSession;
  readonly answer: AnswerPermission;
  readonly follow: FollowEvents;
}

/** Requests to push services at once. Others wait. */
const postsAtOnce = { atOnce: 8, waiting: 10_000 };
/** A visible page reports every minute. */
const presenceMs = 90_000;

export function createPush(deps: PushDeps): Push {
  const { db, clock, log, fetch } = deps;
  const vapid = createVapidKeys(deps);
  const preferences = createPreferenceStore(deps);
  const subscriptions = createSubscriptionStore({ ...deps, preferences });
  const queue = createNoticeQueue(db);
  const actions = createActionTokens(deps);
  const post = createPushPost({ ...deps, vapid });
  const gate = createGate(postsAtOnce);
  const sender = createPushSender({ ...deps, subscriptions, preferences, queue, actions, post, gate });
  /** When a page of each account was last visible. Bounded by the number of accounts. */
  const seenAt = new Map<string, number>();
  let stopFollowing: (() => Promise<void>) | null = null;
  let begun: Promise<void> = Promise.resolve();

  async function checkEndpoint(endpoint: string): Promise<void> {
    try {
      await fetch.check(endpoint);
    } catch (error) {
      if (!isPosternError(error)) throw error;
      throw new PosternError("push_endpoint_refused", `Notifications cannot reach this browser. ${error.message}`, {
        cause: error,
      });
    }
  }

  async function require(owner: SubscriptionOwner, subscriptionId: string) {
    const subscription = await subscriptions.findOwn(owner, subscriptionId);
    if (subscription !== null) return subscription;
    throw new PosternError("push_subscription_not_found", `No browser has the subscription ${subscriptionId}.`);
  }

  async function begin(): Promise<void> {
    for (const subscriptionId of await queue.begin(clock.now())) sender.wake(subscriptionId);
  }

  return {
    publicKey: async () => (await vapid()).publicKey,
    async subscribe(subscriber, { endpoint, keys, name }) {
      const target = { endpoint, keys };
      checkKeys(target);
      await checkEndpoint(endpoint);
      return subscriptions.put(subscriber, target, name);
    },
    list: (owner) => subscriptions.list(owner),
    async remove(owner, subscriptionId) {
      await require(owner, subscriptionId);
      await subscriptions.remove(subscriptionId);
    },
    async test(owner, subscriptionId) {
      const subscription = await require(owner, subscriptionId);
      const { outcome, status, error, durationMs } = await sender.send(subscription, { type: "test" });
      return { ok: outcome === "accepted", status, error, durationMs, removed: outcome === "gone" };
    },
    preferences: (accountId) => preferences.get(accountId),
    async setPreferences(accountId, wanted) {
      await preferences.set(accountId, wanted);
      for (const subscriptionId of await queue.release(accountId, clock.now())) sender.wake(subscriptionId);
    },
    notePresence: (accountId) => void seenAt.set(accountId, clock.now()),
    async act(token) {
      const gone = () =>
        new PosternError("push_action_gone", "This notification can no longer be used to answer. Open the session.");
      const action = await actions.redeem(token);
      const subscription = action === null ? null : await subscriptions.find(action.subscriptionId);
      const caller = subscription === null ? null : await deps.callerOf(subscription.subscriber, { acting: true });
      if (action === null || caller === null) throw gone();
      if (!caller.scopes.has("coding:drive")) {
        throw new PosternError("insufficient_scope", "Your account needs the scope coding:drive to answer.", {
          details: { scope: "coding:drive" },
        });
      }
      await deps.answer(action, caller);
      return { ...action, accountId: caller.accountId };
    },
    async sessionChanged(sessionId) {
      try {
        for (const id of await queue.check(db, [sessionId], clock.now())) sender.wake(id);
      } catch (error) {
        log.warn({ reason: messageOf(error) }, "cannot withdraw a notification");
      }
    },
    async forget(sessionIds) {
      await queue.forget(sessionIds);
      await actions.forget(sessionIds);
    },
    start() {
      stopFollowing ??= followSessions({
        ...deps,
        preferences,
        queue,
        isInUse: (accountId) => clock.now() - (seenAt.get(accountId) ?? Number.NEGATIVE_INFINITY) < presenceMs,
        wake: (subscriptionId) => sender.wake(subscriptionId),
      });
      begun = begin().catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot resume notifications"));
    },
    async close() {
      await stopFollowing?.();
      await begun;
      await sender.close();
    },
  };
}
