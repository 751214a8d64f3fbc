import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import type { IssuedToken, OAuth } from "./oauth.ts";
import { payloadSchema } from "./record-store.ts";
import { resourceOfAudience } from "./resources.ts";
import { readScopes } from "./scopes.ts";

/** The use of an app is written down at most this often: a write for every request would cost more than the request. */
const lastUsedStepMs = 60_000;

/** Access tokens, looked up without the library. */
export function createTokens({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }): OAuth["tokens"] {
  async function noteUse(grantHash: string, lastUsedAt: number | null): Promise<void> {
    const now = clock.now();
    if (lastUsedAt !== null && now - lastUsedAt < lastUsedStepMs) return;
    await db
      .updateTable("oauth_records")
      .set({ last_used_at: now })
      .where("id_hash", "=", grantHash)
      .where("kind", "=", "Grant")
      .execute();
  }

  /** In force: not over, and its grant stands. */
  async function findAgain(tokenId: string): Promise<IssuedToken | null> {
    const row = await db
      .selectFrom("oauth_records as token")
      .innerJoin("oauth_records as held", (join) =>
        join.onRef("held.id_hash", "=", "token.grant_hash").on("held.kind", "=", "Grant"),
      )
      .select(["token.payload", "token.expires_at", "token.account_id", "token.client_id"])
      .select(["held.id_hash as grant_hash", "held.last_used_at", "held.expires_at as grant_expires_at"])
      .where("token.id_hash", "=", tokenId)
      .where("token.kind", "=", "AccessToken")
      .executeTakeFirst();
    if (row === undefined || row.account_id === null || row.client_id === null) return null;
    const now = clock.now();
    if (row.expires_at === null || row.expires_at <= now) return null;
    if (row.grant_expires_at !== null && row.grant_expires_at <= now) return null;
    const payload = payloadSchema.parse(JSON.parse(row.payload));
    // Not knowing when an app was last there is no reason to refuse it, for example when the disk is full.
    await noteUse(row.grant_hash, row.last_used_at).catch(() => undefined);
    return {
      tokenId,
      accountId: row.account_id,
      app: { clientId: row.client_id, appId: String(payload["grantId"]) },
      scopes: new Set(readScopes(String(payload["scope"] ?? ""))),
      resource: resourceOfAudience(payload["aud"]),
      expiresAt: row.expires_at,
    };
  }

  return { find: (token) => findAgain(sha256(token)), findAgain };
}
