import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newUuid, sha256 } from "../core/ids.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";
import type { PushSubscriptionRecord } from "../wire/push.ts";
import type { Subscriber } from "./ports.ts";
import type { PreferenceStore } from "./preferences.ts";
import type { PushTarget } from "./push-request.ts";

/** A browser as the sender needs it. */
export interface StoredSubscription {
  readonly subscriptionId: string;
  readonly subscriber: Subscriber;
  readonly target: PushTarget;
}

/** Subscriptions that a caller can see and change. */
export interface SubscriptionOwner {
  readonly accountId: string;
  /** Only subscriptions created with this token; null for all of the account. */
  readonly tokenId: string | null;
}

type Row = Selectable<Tables["push_subscriptions"]>;

/** Far more browsers than a person has. */
const maxSubscriptions = 50;

const targetSchema = z.object({ endpoint: z.string(), keys: z.object({ p256dh: z.string(), auth: z.string() }) });

/** SQL of the browsers that receive notifications. */
export function createSubscriptionStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly preferences: PreferenceStore;
}) {
  const { db, clock, secrets, preferences } = deps;

  /** One at a time for each account, so that the limit holds. */
  async function lockAccount(on: Kysely<Tables>, accountId: string): Promise<void> {
    await on.updateTable("accounts").set({ account_id: accountId }).where("account_id", "=", accountId).execute();
  }

  function mine({ accountId, tokenId }: SubscriptionOwner) {
    const all = db.selectFrom("push_subscriptions").where("account_id", "=", accountId);
    return tokenId === null ? all : all.where("token_id", "=", tokenId);
  }

  return {
    /**
     * Adds a browser, or replaces its data.
     * @throws PosternError `invalid_request` for too many, or another account's browser
     */
    async put(subscriber: Subscriber, target: PushTarget, name: string): Promise<PushSubscriptionRecord> {
      const { accountId, kind, browserSessionId, tokenId } = subscriber;
      const endpointHash = sha256(target.endpoint);
      const now = clock.now();
      return db.transaction().execute(async (trx) => {
        await lockAccount(trx, accountId);
        const known = await trx
          .selectFrom("push_subscriptions")
          .selectAll()
          .where("endpoint_hash", "=", endpointHash)
          .executeTakeFirst();
        // The keys prove that it is the same browser, now used by another account.
        const isSame = known !== undefined && sameKeys(open(known), target);
        if (known !== undefined && known.account_id !== accountId && !isSame) {
          throw new PosternError("invalid_request", "This browser receives the notifications of another account.");
        }
        const { count } = await trx
          .selectFrom("push_subscriptions")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("account_id", "=", accountId)
          .where("endpoint_hash", "<>", endpointHash)
          .executeTakeFirstOrThrow();
        if (count >= maxSubscriptions) {
          throw new PosternError(
            "invalid_request",
            `The limit of ${maxSubscriptions} browsers is reached. Remove one that is no longer used.`,
          );
        }
        const isKept = isSame && known.account_id === accountId;
        const subscriptionId = isKept ? known.subscription_id : newUuid();
        const row = {
          subscription_id: subscriptionId,
          account_id: accountId,
          endpoint_hash: endpointHash,
          sealed: secrets.seal(JSON.stringify(target), purposeOf(subscriptionId)),
          service: new URL(target.endpoint).host,
          name,
          caller_kind: kind,
          browser_session_id: browserSessionId,
          token_id: tokenId,
          created_at: isKept ? known.created_at : now,
          last_used_at: isKept ? known.last_used_at : null,
          last_error: null,
        };
        if (isKept) {
          const { subscription_id: _, ...changes } = row;
          await trx
            .updateTable("push_subscriptions")
            .set(changes)
            .where("subscription_id", "=", subscriptionId)
            .execute();
        } else {
          await trx.deleteFrom("push_subscriptions").where("endpoint_hash", "=", endpointHash).execute();
          await trx.insertInto("push_subscriptions").values(row).execute();
        }
        await preferences.ensure(trx, accountId);
        return toRecord(row);
      });
    },

    async list(owner: SubscriptionOwner): Promise<readonly PushSubscriptionRecord[]> {
      const rows = await mine(owner).selectAll().orderBy("created_at").orderBy("subscription_id").execute();
      return rows.map(toRecord);
    },

    /** Also null for a subscription of another account. */
    async findOwn(owner: SubscriptionOwner, subscriptionId: string): Promise<StoredSubscription | null> {
      const row = await mine(owner).selectAll().where("subscription_id", "=", subscriptionId).executeTakeFirst();
      return row === undefined ? null : toStored(row);
    },

    async find(subscriptionId: string): Promise<StoredSubscription | null> {
      const row = await db
        .selectFrom("push_subscriptions")
        .selectAll()
        .where("subscription_id", "=", subscriptionId)
        .executeTakeFirst();
      return row === undefined ? null : toStored(row);
    },

    async remove(subscriptionId: string): Promise<void> {
      await db.deleteFrom("push_subscriptions").where("subscription_id", "=", subscriptionId).execute();
    },

    async noteSent(subscriptionId: string, error: string | null): Promise<void> {
      await db
        .updateTable("push_subscriptions")
        .set(error === null ? { last_used_at: clock.now(), last_error: null } : { last_error: error })
        .where("subscription_id", "=", subscriptionId)
        .execute();
    },
  };

  function open(row: Row): PushTarget {
    return targetSchema.parse(JSON.parse(secrets.open(row.sealed, purposeOf(row.subscription_id))));
  }

  function toStored(row: Row): StoredSubscription {
    return {
      subscriptionId: row.subscription_id,
      subscriber: {
        accountId: row.account_id,
        kind: row.caller_kind,
        browserSessionId: row.browser_session_id,
        tokenId: row.token_id,
      },
      target: open(row),
    };
  }
}

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/** Binds the sealed endpoint to its row. */
function purposeOf(subscriptionId: string): string {
  return `push subscription ${subscriptionId}`;
}

function sameKeys(one: PushTarget, other: PushTarget): boolean {
  return one.keys.p256dh === other.keys.p256dh && one.keys.auth === other.keys.auth;
}

function toRecord(row: Row): PushSubscriptionRecord {
  return {
    subscriptionId: row.subscription_id,
    name: row.name,
    service: row.service,
    endpointHash: row.endpoint_hash,
    createdAt: isoTime(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
    lastError: row.last_error,
  };
}
