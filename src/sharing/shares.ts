import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newSecret, newUuid, sameHash, sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import type { Share } from "../wire/sharing.ts";
import type { ShareCreator } from "./ports.ts";

/** An active link, with the access that its creator had when creating it. */
export interface ValidShare extends Share {
  readonly accountId: string;
  readonly tokenId: string | null;
  readonly appId: string | null;
  readonly folders: readonly string[] | null;
}

/** Links to read one session; of each, only the SHA-256 of its secret is stored. */
export interface ShareStore {
  /** @throws PosternError `invalid_request` if the account has too many */
  create(
    creator: ShareCreator,
    wanted: { readonly sessionId: string; readonly expiresAt: number },
    within: Kysely<Tables>,
  ): Promise<{ readonly secret: string; readonly share: Share }>;
  /** Active links, newest first. */
  list(accountId: string, sessionIds: readonly string[]): Promise<readonly Share[]>;
  /** @throws PosternError `share_not_found` */
  revoke(accountId: string, shareId: string, within: Kysely<Tables>): Promise<Share>;
  /** @returns null for an unknown, expired or revoked link */
  find(secret: string): Promise<ValidShare | null>;
  /** Whether the link is still in force. */
  isInForce(shareId: string): Promise<boolean>;
  /** Records that the link was opened. @returns whether this was the first time */
  noteOpen(shareId: string): Promise<boolean>;
  /** Revokes all links to a session. */
  removeOf(sessionIds: readonly string[]): Promise<void>;
}

/** Maximum active links of one account: far more than anyone needs, but it stops a script in a loop. */
const maxShares = 200;
const secretForm = /^[\w-]{43}$/;
const foldersSchema = z.array(z.string()).nullable();

/** @throws PosternError `share_not_found` */
export function shareGone(): never {
  throw new PosternError("share_not_found", "This link does not exist, has expired, or was revoked.");
}

export function createShareStore({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }): ShareStore {
  const inForce = (within: Kysely<Tables>) => within.selectFrom("shares").where("expires_at", ">", clock.now());

  return {
    async create(creator, { sessionId, expiresAt }, within) {
      const { accountId } = creator;
      // Locks the account's row, so that two simultaneous requests cannot exceed the limit.
      await within
        .updateTable("accounts")
        .set((eb) => ({ name: eb.ref("name") }))
        .where("account_id", "=", accountId)
        .execute();
      await within.deleteFrom("shares").where("expires_at", "<=", clock.now()).execute();
      const { held } = await inForce(within)
        .where("account_id", "=", accountId)
        .select(({ fn }) => fn.countAll<number>().as("held"))
        .executeTakeFirstOrThrow();
      if (held >= maxShares) {
        throw new PosternError("invalid_request", `The limit of ${maxShares} links is reached. Revoke some of them.`);
      }
      const secret = newSecret();
      const row = {
        share_id: newUuid(),
        secret_hash: sha256(secret),
        account_id: accountId,
        session_id: sessionId,
        token_id: creator.tokenId,
        app_id: creator.app?.appId ?? null,
        folders: creator.folders === null ? null : JSON.stringify(creator.folders),
        created_at: clock.now(),
        expires_at: expiresAt,
        first_opened_at: null,
        opens: 0,
      };
      await within.insertInto("shares").values(row).execute();
      return { secret, share: toShare(row) };
    },

    async list(accountId, sessionIds) {
      const rows = await inForce(db)
        .selectAll()
        .where("account_id", "=", accountId)
        .where("session_id", "in", sessionIds)
        .orderBy("created_at", "desc")
        .orderBy("share_id")
        .execute();
      return rows.map(toShare);
    },

    async revoke(accountId, shareId, within) {
      const row = await within
        .deleteFrom("shares")
        .where("account_id", "=", accountId)
        .where("share_id", "=", shareId)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? shareGone() : toShare(row);
    },

    async find(secret) {
      if (!secretForm.test(secret)) return null;
      const hash = sha256(secret);
      const row = await inForce(db).selectAll().where("secret_hash", "=", hash).executeTakeFirst();
      if (row === undefined || !sameHash(row.secret_hash, hash)) return null;
      const folders = foldersSchema.parse(row.folders === null ? null : JSON.parse(row.folders));
      return { ...toShare(row), accountId: row.account_id, tokenId: row.token_id, appId: row.app_id, folders };
    },

    async isInForce(shareId) {
      return (await inForce(db).select("share_id").where("share_id", "=", shareId).executeTakeFirst()) !== undefined;
    },

    async noteOpen(shareId) {
      await db
        .updateTable("shares")
        .set((eb) => ({ opens: eb("opens", "+", 1) }))
        .where("share_id", "=", shareId)
        .execute();
      const { numUpdatedRows } = await db
        .updateTable("shares")
        .set({ first_opened_at: clock.now() })
        .where("share_id", "=", shareId)
        .where("first_opened_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async removeOf(sessionIds) {
      await db.deleteFrom("shares").where("session_id", "in", sessionIds).execute();
    },
  };
}

function toShare(row: Selectable<Tables["shares"]>): Share {
  return {
    shareId: row.share_id,
    sessionId: row.session_id,
    createdAt: isoTime(row.created_at),
    expiresAt: isoTime(row.expires_at),
    firstOpenedAt: row.first_opened_at === null ? null : isoTime(row.first_opened_at),
    opens: row.opens,
  };
}
