import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
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
import type { IsVisibleDir } from "./ports.ts";
import { createWebhookSender } from "./webhook-sender.ts";
import { createWebhookStore, newWebhookSecret, type StoredWebhook, takes } from "./webhook-store.ts";

/** Who sees to webhooks: as much of the caller as webhooks need to know. */
export interface WebhookOwner {
  readonly accountId: string;
  /** Real paths of folders that the caller is limited to, and the caller's webhooks with it; null is no limit. */
  readonly folders: readonly string[] | null;
}

/** Addresses that are told of events: each event at least once, in order as far as their receivers allow. */
export interface Webhooks {
  /**
   * @returns also the secret, which nobody can read again
   * @throws PosternError `invalid_request`
   */
  add(owner: WebhookOwner, wanted: AddWebhookInput): Promise<AddedWebhook>;
  list(owner: WebhookOwner): Promise<readonly Webhook[]>;
  /** What waits for it is not sent any more. @throws PosternError `webhook_not_found` */
  remove(owner: WebhookOwner, webhookId: string): Promise<void>;
  /** The newest first. @throws PosternError `webhook_not_found` */
  deliveries(
    owner: WebhookOwner,
    webhookId: string,
    options: { readonly state?: DeliveryState | undefined; readonly limit?: number | undefined },
  ): Promise<readonly Delivery[]>;
  /**
   * Sends dead events again, all or those named; a webhook that was disabled is enabled with it.
   * @returns how many
   * @throws PosternError `webhook_not_found`
   */
  retry(owner: WebhookOwner, webhookId: string, eventIds: readonly string[] | null): Promise<number>;
  /** Sends a request that is no event, once. @throws PosternError `webhook_not_found` */
  test(owner: WebhookOwner, webhookId: string): Promise<AttemptResult>;
}

/** What goes on inside: events come in with the transaction that writes them. */
export interface WebhookRoom extends Webhooks {
  beside(events: readonly SessionEvent[]): Promise<(transaction: Kysely<Tables>) => Promise<void>>;
  /** Sends what waits from earlier. */
  begin(): Promise<void>;
  /** Events were written: sends them. */
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
  /** From 0 to 1, for pauses that differ. */
  readonly random?: () => number;
}

// Ours. Each has at most one request under way, so this bounds those too.
const maxWebhooks = 32;
const defaultDeliveries = 100;

export function createWebhooks(deps: WebhooksDeps): WebhookRoom {
  const { db, clock } = deps;
  const store = createWebhookStore(deps);
  const queue = createDeliveryQueue(db);
  const sender = createWebhookSender({ random: Math.random, ...deps, webhooks: store, queue });
  /** Webhooks with new events that are not announced yet. */
  const woken = new Set<string>();

  async function require(owner: WebhookOwner, webhookId: string): Promise<StoredWebhook> {
    const webhook = await store.find(webhookId, owner.accountId);
    if (webhook !== null) return webhook;
    throw new PosternError("webhook_not_found", `There is no webhook ${webhookId}.`);
  }

  return {
    async add(owner, wanted) {
      checkUrl(wanted.url);
      if ((await store.count()) >= maxWebhooks) {
        throw new PosternError(
          "invalid_request",
          `There are ${maxWebhooks} webhooks already. Remove what is not used.`,
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

    async beside(events) {
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

/** What no configuration would allow; whether the address is one of the internet is asked at each request. */
function checkUrl(text: string): void {
  const url = new URL(text);
  if (url.username === "" && url.password === "" && url.hash === "") return;
  throw new PosternError(
    "invalid_request",
    "A webhook's URL holds neither credentials nor a fragment. Check signatures instead.",
  );
}
