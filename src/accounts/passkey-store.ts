import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Tables } from "../storage/schema.ts";
import type { Passkey } from "../wire/accounts.ts";

/** Maximum passkeys of one account. Our own limit, far more than anyone needs. */
const maxPasskeys = 50;

const transportsSchema = z.array(z.string());

/** The public part of a passkey. */
export interface PasskeyKey {
  /** The credential's id, base64url. */
  readonly passkeyId: string;
  readonly accountId: string;
  /** COSE key. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly transports: readonly string[];
}

/** The passkey's own signature counter, and whether it is backed up. */
export interface PasskeyUse {
  /** Always 0 for passkeys that are synced between devices. */
  readonly signCount: number;
  readonly backedUp: boolean;
}

export interface PasskeyStore {
  /** Oldest first. */
  list(accountId: string): Promise<readonly Passkey[]>;
  keysOf(accountId: string): Promise<readonly PasskeyKey[]>;
  find(passkeyId: string): Promise<PasskeyKey | null>;
  /** @throws PosternError `invalid_request` when it already exists, or the account has too many */
  add(key: PasskeyKey, made: PasskeyUse & { readonly name: string }): Promise<Passkey>;
  /** @returns false when the counter did not increase, which suggests a copied passkey, or when the passkey no longer exists */
  noteUse(passkeyId: string, use: PasskeyUse): Promise<boolean>;
  /** @throws PosternError `passkey_not_found` */
  remove(accountId: string, passkeyId: string): Promise<Passkey>;
}

export function createPasskeyStore(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): PasskeyStore {
  const { db, clock } = deps;

  async function rowsOf(accountId: string): Promise<readonly Selectable<Tables["passkeys"]>[]> {
    return db
      .selectFrom("passkeys")
      .selectAll()
      .where("account_id", "=", accountId)
      .orderBy("created_at")
      .orderBy("passkey_id")
      .execute();
  }

  return {
    list: async (accountId) => (await rowsOf(accountId)).map(toPasskey),
    keysOf: async (accountId) => (await rowsOf(accountId)).map(toKey),

    async find(passkeyId) {
      const row = await db.selectFrom("passkeys").selectAll().where("passkey_id", "=", passkeyId).executeTakeFirst();
      return row === undefined ? null : toKey(row);
    },

    async add({ passkeyId, accountId, publicKey, transports }, { name, signCount, backedUp }) {
      if ((await rowsOf(accountId)).length >= maxPasskeys) {
        throw new PosternError(
          "invalid_request",
          `The limit of ${maxPasskeys} passkeys is reached. Remove one that you no longer use.`,
        );
      }
      const row = {
        passkey_id: passkeyId,
        account_id: accountId,
        name,
        public_key: Buffer.from(publicKey).toString("base64url"),
        sign_count: signCount,
        transports: JSON.stringify(transports),
        backed_up: backedUp ? 1 : 0,
        created_at: clock.now(),
        last_used_at: null,
      };
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("passkeys")
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 1n) return toPasskey(row);
      throw new PosternError("invalid_request", "This passkey is already registered.");
    },

    async noteUse(passkeyId, { signCount, backedUp }) {
      // Compared in the update itself: of two answers with the same counter, only one succeeds.
      const { numUpdatedRows } = await db
        .updateTable("passkeys")
        .set({ sign_count: signCount, backed_up: backedUp ? 1 : 0, last_used_at: clock.now() })
        .where("passkey_id", "=", passkeyId)
        .where((eb) => (signCount === 0 ? eb("sign_count", "=", 0) : eb("sign_count", "<", signCount)))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async remove(accountId, passkeyId) {
      const row = (await rowsOf(accountId)).find((each) => each.passkey_id === passkeyId);
      const { numDeletedRows } = await db
        .deleteFrom("passkeys")
        .where("account_id", "=", accountId)
        .where("passkey_id", "=", passkeyId)
        .executeTakeFirst();
      if (row !== undefined && numDeletedRows === 1n) return toPasskey(row);
      throw new PosternError("passkey_not_found", "Passkey not found.");
    },
  };
}

function toKey(row: Selectable<Tables["passkeys"]>): PasskeyKey {
  return {
    passkeyId: row.passkey_id,
    accountId: row.account_id,
    publicKey: new Uint8Array(Buffer.from(row.public_key, "base64url")),
    transports: transportsSchema.parse(JSON.parse(row.transports)),
  };
}

function toPasskey(row: Selectable<Tables["passkeys"]>): Passkey {
  return {
    passkeyId: row.passkey_id,
    name: row.name,
    createdAt: isoTime(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
    backedUp: row.backed_up === 1,
  };
}
