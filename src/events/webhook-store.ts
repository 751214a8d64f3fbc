import { createHmac, randomBytes } from "node:crypto";
import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";
import {
  type Delivery,
  type DeliveryState,
  type EventKind,
  eventKindSchema,
  type SessionEvent,
  type Webhook,
} from "../wire/events.ts";

/** A webhook as the sender needs it. */
export interface StoredWebhook {
  readonly webhookId: string;
  readonly url: string;
  /** The signing secret. @throws PosternError `store_unavailable` if the key that sealed it is lost */
  openSecret(): string;
  readonly kinds: readonly EventKind[] | null;
  readonly folders: readonly string[] | null;
  readonly disabled: boolean;
  /** Failed attempts since the last success. */
  readonly failures: number;
}

type Row = Selectable<Tables["webhooks"]>;

const kindsSchema = z.array(eventKindSchema);
const foldersSchema = z.array(z.string());

/** SQL of webhooks. */
export function createWebhookStore(deps: { readonly db: Kysely<Tables>; readonly secrets: SecretBox }) {
  const { db, secrets } = deps;

  /** Older stores have unsealed secrets, which are sealed when first read. */
  async function toStored(row: Row): Promise<StoredWebhook> {
    const { webhook_id: webhookId, secret } = row;
    const isPlain = secret.startsWith(secretPrefix);
    if (isPlain) await sealInPlace(webhookId, secret).catch(() => undefined); // without a key it stays unsealed but works
    return {
      webhookId,
      url: row.url,
      openSecret: () => (isPlain ? secret : secrets.open(secret, purposeOf(webhookId))),
      ...limitsOf(row),
      disabled: row.disabled_at !== null,
      failures: row.failures,
    };
  }

  async function sealInPlace(webhookId: string, secret: string): Promise<void> {
    await db
      .updateTable("webhooks")
      .set({ secret: secrets.seal(secret, purposeOf(webhookId)) })
      .where("webhook_id", "=", webhookId)
      .where("secret", "=", secret)
      .execute();
  }

  async function counts(): Promise<ReadonlyMap<string, number>> {
    const rows = await db
      .selectFrom("webhook_deliveries")
      .select(({ fn }) => ["webhook_id", "state", fn.countAll<number>().as("count")])
      .where("state", "!=", "delivered")
      .groupBy(["webhook_id", "state"])
      .execute();
    return new Map(rows.map((row) => [`${row.webhook_id} ${row.state}`, row.count]));
  }

  return {
    async add({
      webhookId,
      accountId,
      url,
      secret,
      kinds,
      folders,
      at,
    }: {
      readonly webhookId: string;
      readonly accountId: string;
      readonly url: string;
      readonly secret: string;
      readonly kinds: readonly EventKind[] | null;
      readonly folders: readonly string[] | null;
      readonly at: number;
    }): Promise<void> {
      await db
        .insertInto("webhooks")
        .values({
          webhook_id: webhookId,
          account_id: accountId,
          url,
          secret: secrets.seal(secret, purposeOf(webhookId)),
          kinds: kinds === null ? null : JSON.stringify(kinds),
          folders: folders === null ? null : JSON.stringify(folders),
          failures: 0,
          created_at: at,
          disabled_at: null,
          disabled_reason: null,
        })
        .execute();
    },

    async list(accountId: string): Promise<readonly Webhook[]> {
      const rows = await db
        .selectFrom("webhooks")
        .selectAll()
        .where("account_id", "=", accountId)
        .orderBy("created_at")
        .orderBy("webhook_id")
        .execute();
      const counted = await counts();
      return rows.map((row) => toWebhook(row, (state) => counted.get(`${row.webhook_id} ${state}`) ?? 0));
    },

    async count(): Promise<number> {
      const row = await db
        .selectFrom("webhooks")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return row.count;
    },

    /** If `accountId` is null, the webhook can belong to any account. */
    async find(webhookId: string, accountId: string | null): Promise<StoredWebhook | null> {
      let query = db.selectFrom("webhooks").selectAll().where("webhook_id", "=", webhookId);
      if (accountId !== null) query = query.where("account_id", "=", accountId);
      const row = await query.executeTakeFirst();
      return row === undefined ? null : toStored(row);
    },

    async enabled(): Promise<readonly StoredWebhook[]> {
      const rows = await db.selectFrom("webhooks").selectAll().where("disabled_at", "is", null).execute();
      return Promise.all(rows.map(toStored));
    },

    /** Also removes its deliveries. */
    async remove(webhookId: string): Promise<void> {
      await db.deleteFrom("webhooks").where("webhook_id", "=", webhookId).execute();
    },

    async disable(webhookId: string, reason: string, at: number): Promise<void> {
      await db
        .updateTable("webhooks")
        .set({ disabled_at: at, disabled_reason: reason })
        .where("webhook_id", "=", webhookId)
        .execute();
    },

    async enable(webhookId: string): Promise<void> {
      await db
        .updateTable("webhooks")
        .set({ disabled_at: null, disabled_reason: null, failures: 0 })
        .where("webhook_id", "=", webhookId)
        .execute();
    },

    async deliveries(
      webhookId: string,
      { state, limit }: { readonly state: DeliveryState | null; readonly limit: number },
    ): Promise<readonly Delivery[]> {
      let query = db.selectFrom("webhook_deliveries").selectAll().where("webhook_id", "=", webhookId);
      if (state !== null) query = query.where("state", "=", state);
      const rows = await query.orderBy("event_id", "desc").limit(limit).execute();
      return rows.map(toDelivery);
    },
  };
}

export type WebhookStore = ReturnType<typeof createWebhookStore>;

export function takes({ kinds }: StoredWebhook, { kind }: SessionEvent): boolean {
  return kinds === null || kinds.includes(kind);
}

/** Binds a sealed secret to its row. */
function purposeOf(webhookId: string): string {
  return `secret of the webhook ${webhookId}`;
}

function toWebhook(row: Row, count: (state: DeliveryState) => number): Webhook {
  return {
    webhookId: row.webhook_id,
    url: row.url,
    ...limitsOf(row),
    createdAt: isoTime(row.created_at),
    disabledAt: row.disabled_at === null ? null : isoTime(row.disabled_at),
    disabledReason: row.disabled_reason,
    waiting: count("waiting"),
    dead: count("dead"),
  };
}

function limitsOf({ kinds, folders }: Row) {
  return {
    kinds: kinds === null ? null : kindsSchema.parse(JSON.parse(kinds)),
    folders: folders === null ? null : foldersSchema.parse(JSON.parse(folders)),
  };
}

function toDelivery(row: Selectable<Tables["webhook_deliveries"]>): Delivery {
  return {
    eventId: row.event_id,
    kind: eventKindSchema.parse(row.kind),
    state: row.state,
    attempts: row.attempts,
    lastAttemptAt: row.last_attempt_at === null ? null : isoTime(row.last_attempt_at),
    nextAttemptAt: row.state === "waiting" ? isoTime(row.next_attempt_at) : null,
    lastStatus: row.last_status,
    lastError: row.last_error,
  };
}

/** Prefix of unsealed secrets. */
const secretPrefix = "whsec_";

/** 256 random bits in the Standard Webhooks format. @see https://www.standardwebhooks.com */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(32).toString("base64");
}

/**
 * Signs a request. The signature covers `id.timestamp.body`; the timestamp, in seconds, is the time of this attempt, so that receivers can
 * reject replays.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signedHeaders(
  secret: string,
  message: { readonly id: string; readonly at: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(message.at / 1_000));
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${message.id}.${timestamp}.${message.body}`).digest("base64");
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
