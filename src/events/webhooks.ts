import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { isPosternError, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { GuardedFetch } from "../platform/guarded-fetch.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";
import type {
  AddedWebhook,
  AddWebhookInput,
  AttemptResult,
  Delivery,
  DeliveryState,
  SessionEvent,
  Webhook,
  WebhookTest,
} from "../wire/events.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { createEventIds, originId } from "./event-id.ts";
import type { IsVisibleDir } from "./event-stream.ts";
import { createWebhookSender } from "./webhook-sender.ts";
import { createWebhookStore, newWebhookSecret, type StoredWebhook, takes } from "./webhook-store.ts";

/** The parts of a caller that webhooks need. */
export interface WebhookOwner {
  readonly accountId: string;
  /** Real paths of folders the caller and its webhooks are limited to; null for no limit. */
  readonly folders: readonly string[] | null;
}

/** Webhooks receive each event at least once, in order unless a receiver keeps failing. */
export interface Webhooks {
  /**
   * @returns the webhook with its secret, which is shown only once
   * @throws PosternError `webhook_url_refused` for a URL that no event can reach, `invalid_request` for too many
   */
  add(owner: WebhookOwner, wanted: AddWebhookInput): Promise<AddedWebhook>;
  list(owner: WebhookOwner): Promise<readonly Webhook[]>;
  /** Drops its waiting deliveries. @throws PosternError `webhook_not_found` */
  remove(owner: WebhookOwner, webhookId: string): Promise<void>;
  /** Newest first. @throws PosternError `webhook_not_found` */
  deliveries(
    owner: WebhookOwner,
    webhookId: string,
    options: { readonly state?: DeliveryState | undefined; readonly limit?: number | undefined },
  ): Promise<readonly Delivery[]>;
  /**
   * Sends dead events again (all, or those with the given ids), and enables the webhook if it was disabled.
   * @returns how many
   * @throws PosternError `webhook_not_found`
   */
  retry(owner: WebhookOwner, webhookId: string, eventIds: readonly string[] | null): Promise<number>;
  /** Sends a test request once. @throws PosternError `webhook_not_found` */
  test(owner: WebhookOwner, webhookId: string): Promise<AttemptResult>;
}

export interface WebhookDeliveries extends Webhooks {
  /** Returns what to write in the transaction of these events. */
  deliveriesOf(events: readonly SessionEvent[]): Promise<(transaction: Kysely<Tables>) => Promise<void>>;
  /** Resumes earlier deliveries. */
  begin(): Promise<void>;
  /** Sends events that were just written. */
  onWritten(): void;
  close(): Promise<void>;
}

export interface WebhooksDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: GuardedFetch;
  /** Seals the secrets of webhooks. */
  readonly secrets: SecretBox;
  readonly isVisible: IsVisibleDir;
  /** From 0 to 1, for jitter. */
  readonly random?: () => number;
}

/** Also bounds concurrent requests: each webhook has at most one. */
const maxWebhooks = 32;
const defaultDeliveries = 100;

export function createWebhooks(deps: WebhooksDeps): WebhookDeliveries {
  const { db, clock } = deps;
  const store = createWebhookStore(deps);
  const queue = createDeliveryQueue(db);
  const sender = createWebhookSender({ random: Math.random, ...deps, webhooks: store, queue });
  /** Webhooks with new events. */
  const woken = new Set<string>();

  /** Checked like each delivery, which looks up the name again. */
  async function checkUrl(url: string): Promise<void> {
    try {
      if (new URL(url).hash !== "") throw new PosternError("url_refused", "The URL must not have a fragment.");
      await deps.fetch.check(url);
    } catch (error) {
      if (!isPosternError(error)) throw error;
      throw new PosternError("webhook_url_refused", `Events can never reach this webhook. ${error.message}`, {
        cause: error,
      });
    }
  }

  async function require(owner: WebhookOwner, webhookId: string): Promise<StoredWebhook> {
    const webhook = await store.find(webhookId, owner.accountId);
    if (webhook !== null) return webhook;
    throw new PosternError("webhook_not_found", `Webhook ${webhookId} not found.`);
  }

  return {
    async add(owner, wanted) {
      await checkUrl(wanted.url);
      if ((await store.count()) >= maxWebhooks) {
        throw new PosternError(
          "invalid_request",
          `The limit of ${maxWebhooks} webhooks is reached. Remove one that is no longer used.`,
        );
      }
      const webhook = {
        webhookId: newUuid(),
        url: wanted.url,
        kinds: wanted.kinds === undefined ? null : [...new Set(wanted.kinds)],
        folders: owner.folders === null ? null : [...owner.folders],
      };
      const secret = newWebhookSecret();
      const at = clock.now();
      await store.add({ ...webhook, accountId: owner.accountId, secret, at });
      return {
        ...webhook,
        createdAt: isoTime(at),
        disabledAt: null,
        disabledReason: null,
        waiting: 0,
        dead: 0,
        secret,
      };
    },
    list: (owner) => store.list(owner.accountId),
    async remove(owner, webhookId) {
      await require(owner, webhookId);
      await store.remove(webhookId);
    },
    async deliveries(owner, webhookId, { state, limit }) {
      await require(owner, webhookId);
      return store.deliveries(webhookId, { state: state ?? null, limit: limit ?? defaultDeliveries });
    },
    async retry(owner, webhookId, eventIds) {
      const webhook = await require(owner, webhookId);
      const revived = await queue.revive(webhookId, eventIds, clock.now());
      if (webhook.disabled) await store.enable(webhookId);
      sender.wake(webhookId);
      return revived;
    },
    async test(owner, webhookId) {
      const webhook = await require(owner, webhookId);
      const at = clock.now();
      const event: WebhookTest = { kind: "webhook.test", id: createEventIds(originId)(at), at: isoTime(at), webhookId };
      return sender.attempt(webhook, { id: event.id, body: JSON.stringify(event) });
    },

    async deliveriesOf(events) {
      const entries: { webhookId: string; event: SessionEvent }[] = [];
      for (const webhook of await store.enabled()) {
        for (const event of events) {
          if (!takes(webhook, event)) continue;
          entries.push({ webhookId: webhook.webhookId, event });
          woken.add(webhook.webhookId);
        }
      }
      return (transaction) => queue.add(transaction, entries, clock.now());
    },
    async begin() {
      for (const { webhookId } of await store.enabled()) {
        await queue.prune(webhookId);
        sender.wake(webhookId);
      }
    },
    onWritten() {
      for (const webhookId of woken) sender.wake(webhookId);
      woken.clear();
    },
    close: () => sender.close(),
  };
}
