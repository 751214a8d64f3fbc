import { type Kysely, type Selectable, sql } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { Reason } from "./compose.ts";

/** A notification that waits for a browser. */
export interface WaitingNotice {
  readonly subscriptionId: string;
  readonly sessionId: string;
  readonly reason: Reason;
  readonly permissionId: string | null;
  readonly shown: string | null;
  readonly held: boolean;
  readonly attempts: number;
  readonly version: number;
  readonly dueAt: number;
  readonly expiresAt: number;
}

export interface NewNotice {
  readonly sessionId: string;
  readonly reason: Reason;
  readonly permissionId: string | null;
  readonly dueAt: number;
  readonly held: boolean;
  readonly expiresAt: number;
}

/** How many of a browser's sessions are read for one summary. The others follow in the next one. */
const noticesAtOnce = 200;

/** SQL of waiting and shown notifications: one for each session and browser, and newer ones replace older ones. */
export function createNoticeQueue(db: Kysely<Tables>) {
  const at = ({ subscriptionId, sessionId }: WaitingNotice, on: Kysely<Tables> = db) =>
    on.updateTable("push_deliveries").where("subscription_id", "=", subscriptionId).where("session_id", "=", sessionId);

  return {
    /** Adds a notification for all browsers of an account. @returns the ids of the browsers */
    async add(on: Kysely<Tables>, accountId: string, notice: NewNotice): Promise<readonly string[]> {
      const { sessionId, reason, permissionId, dueAt, held, expiresAt } = notice;
      const changes = {
        reason,
        permission_id: permissionId,
        state: "waiting",
        held: Number(held),
        attempts: 0,
        due_at: dueAt,
        expires_at: expiresAt,
      } as const;
      const rows = await on
        .insertInto("push_deliveries")
        .columns([
          ...(["subscription_id", "session_id", "reason", "permission_id", "state", "version", "held"] as const),
          ...(["attempts", "due_at", "expires_at"] as const),
        ])
        .expression(
          on
            .selectFrom("push_subscriptions")
            .where("account_id", "=", accountId)
            // PostgreSQL treats parameters of a select as text.
            .select([
              "subscription_id",
              sql<string>`cast(${sessionId} as text)`.as("session_id"),
              sql<Reason>`cast(${reason} as text)`.as("reason"),
              sql<string | null>`cast(${permissionId} as text)`.as("permission_id"),
              sql<"waiting">`'waiting'`.as("state"),
              sql<number>`1`.as("version"),
              sql<number>`cast(${Number(held)} as integer)`.as("held"),
              sql<number>`0`.as("attempts"),
              sql<number>`cast(${dueAt} as bigint)`.as("due_at"),
              sql<number>`cast(${expiresAt} as bigint)`.as("expires_at"),
            ]),
        )
        .onConflict((conflict) =>
          conflict
            .columns(["subscription_id", "session_id"])
            .doUpdateSet((eb) => ({ ...changes, version: eb("push_deliveries.version", "+", 1) })),
        )
        .returning("subscription_id")
        .execute();
      return rows.map((row) => row.subscription_id);
    },

    /** Checks the notifications that browsers show of a session. @returns the ids of these browsers */
    async check(on: Kysely<Tables>, sessionIds: readonly string[], now: number): Promise<readonly string[]> {
      const rows = await on
        .updateTable("push_deliveries")
        .set((eb) => ({
          reason: "check",
          state: "waiting",
          attempts: 0,
          held: 0,
          due_at: now,
          version: eb("version", "+", 1),
        }))
        .where("session_id", "in", sessionIds)
        .where("state", "=", "shown")
        .returning("subscription_id")
        .execute();
      return [...new Set(rows.map((row) => row.subscription_id))];
    },

    /** The notifications that wait for this browser, by due time. */
    async waiting(subscriptionId: string): Promise<readonly WaitingNotice[]> {
      const rows = await db
        .selectFrom("push_deliveries")
        .selectAll()
        .where("subscription_id", "=", subscriptionId)
        .where("state", "=", "waiting")
        .orderBy("due_at")
        .orderBy("session_id")
        .limit(noticesAtOnce)
        .execute();
      return rows.map(toWaiting);
    },

    async postpone(
      notice: WaitingNotice,
      to: { readonly dueAt: number; readonly attempts: number; readonly held: boolean },
    ): Promise<void> {
      await at(notice)
        .set({ due_at: to.dueAt, attempts: to.attempts, held: Number(to.held) })
        .where("version", "=", notice.version)
        .execute();
    },

    /** It was sent, or is no longer needed. A newer notification of the session stays. @param shown what the browser shows now */
    async settle(notice: WaitingNotice, shown: string | null): Promise<void> {
      await db.transaction().execute(async (trx) => {
        await at(notice, trx).set({ shown }).execute();
        if (shown !== null) {
          await at(notice, trx).set({ state: "shown" }).where("version", "=", notice.version).execute();
          return;
        }
        await trx
          .deleteFrom("push_deliveries")
          .where("subscription_id", "=", notice.subscriptionId)
          .where("session_id", "=", notice.sessionId)
          .where("version", "=", notice.version)
          .execute();
      });
    },

    /** Makes notifications that quiet hours hold back due now, because the preferences changed. @returns browsers of the account */
    async release(accountId: string, now: number): Promise<readonly string[]> {
      const mine = db.selectFrom("push_subscriptions").select("subscription_id").where("account_id", "=", accountId);
      const rows = await db
        .updateTable("push_deliveries")
        .set({ due_at: now })
        .where("held", "=", 1)
        .where("state", "=", "waiting")
        .where("subscription_id", "in", mine)
        .returning("subscription_id")
        .execute();
      return [...new Set(rows.map((row) => row.subscription_id))];
    },

    async forget(sessionIds: readonly string[]): Promise<void> {
      await db.deleteFrom("push_deliveries").where("session_id", "in", sessionIds).execute();
    },

    /** Removes what is too old. @returns browsers with waiting notifications */
    async begin(now: number): Promise<readonly string[]> {
      await db.deleteFrom("push_deliveries").where("expires_at", "<=", now).execute();
      const rows = await db
        .selectFrom("push_deliveries")
        .select("subscription_id")
        .distinct()
        .where("state", "=", "waiting")
        .execute();
      return rows.map((row) => row.subscription_id);
    },
  };
}

export type NoticeQueue = ReturnType<typeof createNoticeQueue>;

function toWaiting(row: Selectable<Tables["push_deliveries"]>): WaitingNotice {
  return {
    subscriptionId: row.subscription_id,
    sessionId: row.session_id,
    reason: row.reason,
    permissionId: row.permission_id,
    shown: row.shown,
    held: row.held === 1,
    attempts: row.attempts,
    version: row.version,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
  };
}
