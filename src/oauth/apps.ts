import type { Kysely } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import { appScopes } from "../wire/access.ts";
import type { OAuth } from "./oauth.ts";
import type { NoteAudit } from "./ports.ts";
import type { RecordStore } from "./record-store.ts";

/** The payload of a grant. */
const grantSchema = z.object({
  appId: z.string(),
  clientId: z.string(),
  host: z.string().nullable(),
  resources: z.record(z.string(), z.string()),
});

/** Maximum apps to list, far more than anyone needs. */
const maxApps = 1_000;

/** Apps that accounts have authorized. Each app is a grant. */
export function createApps(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly records: RecordStore;
  readonly noteAudit: NoteAudit;
}): OAuth["apps"] {
  const { db, clock, records, noteAudit } = deps;
  return {
    async list(accountId) {
      const rows = await db
        .selectFrom("oauth_records as held")
        .leftJoin("oauth_clients as client", "client.client_id", "held.client_id")
        .select(["held.payload", "held.created_at", "held.last_used_at", "held.expires_at", "client.name"])
        .where("held.account_id", "=", accountId)
        .where("held.kind", "=", "Grant")
        .where("held.expires_at", ">", clock.now())
        .orderBy(({ fn }) => fn.coalesce("held.last_used_at", "held.created_at"), "desc")
        .orderBy("held.id_hash")
        .limit(maxApps)
        .execute();
      return rows.map((row) => {
        const { appId, clientId, host, resources } = grantSchema.parse(JSON.parse(row.payload));
        const given = new Set(Object.values(resources).flatMap((scopes) => scopes.split(" ")));
        return {
          appId,
          clientId,
          name: row.name ?? clientId,
          host,
          scopes: appScopes.filter((scope) => given.has(scope)),
          createdAt: isoTime(row.created_at),
          lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
          expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
        };
      });
    },

    async isConnected(accountId, appId) {
      const found = await records.find("Grant", appId);
      return found?.account_id === accountId && (found.expires_at ?? 0) > clock.now();
    },

    async disconnect(appId, { accountId, from }) {
      const found = await records.find("Grant", appId);
      if (found === null || found.account_id !== accountId || !(await records.endGrant(sha256(appId)))) {
        throw new PosternError("app_not_found", `No connected app ${appId}. It may already have been disconnected.`);
      }
      const name = await db
        .selectFrom("oauth_clients")
        .select("name")
        .where("client_id", "=", found.client_id)
        .executeTakeFirst();
      const details = { name: name?.name ?? found.client_id, host: found.payload["host"] };
      await noteAudit({ action: "app_disconnected", accountId, subject: appId, details, from });
    },
  };
}
