import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { newSecret, sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";

/** The effect of a notification's action token. */
export interface PushAction {
  readonly subscriptionId: string;
  readonly sessionId: string;
  readonly permissionId: string;
  readonly decision: "allow" | "deny";
}

/** A person answers from a notification within minutes; later, the page opens. */
const lifeMs = 30 * 60_000;

/** Single-use tokens of notifications, of which only the hash is stored. */
export function createActionTokens({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }) {
  const ofPermission = (on: Kysely<Tables>, subscriptionId: string, permissionId: string) =>
    on
      .deleteFrom("push_actions")
      .where("subscription_id", "=", subscriptionId)
      .where("permission_id", "=", permissionId);

  return {
    /** Replaces earlier tokens of the permission for this browser. */
    async issue(action: Omit<PushAction, "decision">): Promise<{ readonly allow: string; readonly deny: string }> {
      const { subscriptionId, sessionId, permissionId } = action;
      const tokens = { allow: newSecret(), deny: newSecret() };
      const rows = (["allow", "deny"] as const).map((decision) => ({
        token_hash: sha256(tokens[decision]),
        subscription_id: subscriptionId,
        session_id: sessionId,
        permission_id: permissionId,
        decision,
        expires_at: clock.now() + lifeMs,
      }));
      await db.transaction().execute(async (trx) => {
        await ofPermission(trx, subscriptionId, permissionId).execute();
        await trx.deleteFrom("push_actions").where("expires_at", "<=", clock.now()).execute();
        await trx.insertInto("push_actions").values(rows).execute();
      });
      return tokens;
    },

    /** Redeems a token once: then neither it nor the token for the other choice works again. Null if it is not valid. */
    async redeem(token: string): Promise<PushAction | null> {
      return db.transaction().execute(async (trx) => {
        const row = await trx
          .deleteFrom("push_actions")
          .where("token_hash", "=", sha256(token))
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) return null;
        const { subscription_id: subscriptionId, permission_id: permissionId, session_id: sessionId, decision } = row;
        await ofPermission(trx, subscriptionId, permissionId).execute();
        return row.expires_at > clock.now() ? { subscriptionId, sessionId, permissionId, decision } : null;
      });
    },

    async forget(sessionIds: readonly string[]): Promise<void> {
      await db.deleteFrom("push_actions").where("session_id", "in", sessionIds).execute();
    },
  };
}

export type ActionTokens = ReturnType<typeof createActionTokens>;
