import { createECDH } from "node:crypto";
import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";

/** The key pair that identifies this gateway to push services. @see RFC 8292 */
export interface VapidKeys {
  /** Uncompressed P-256 point, base64url. */
  readonly publicKey: string;
  /** Base64url. */
  readonly privateKey: string;
}

const name = "vapid";
const purpose = "VAPID key";
const publicKeyBytes = 65;
const privateKeyBytes = 32;

/** @returns a function that reads the store's key pair, which its first call creates */
export function createVapidKeys(deps: {
  readonly db: Kysely<Tables>;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
}): () => Promise<VapidKeys> {
  const { db, secrets, clock, log } = deps;

  async function stored(): Promise<VapidKeys | null> {
    const row = await db.selectFrom("push_keys").selectAll().where("name", "=", name).executeTakeFirst();
    return row === undefined ? null : { publicKey: row.public_key, privateKey: secrets.open(row.sealed, purpose) };
  }

  /** Two processes that create a pair at once get the same one. */
  async function create(): Promise<VapidKeys> {
    const made = newKeys();
    await db
      .insertInto("push_keys")
      .values({
        name,
        public_key: made.publicKey,
        sealed: secrets.seal(made.privateKey, purpose),
        created_at: clock.now(),
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await stored()) ?? made;
  }

  /** Without the key that sealed them, the pair and all subscriptions are lost. Browsers subscribe again with their next visit. */
  async function replace(): Promise<VapidKeys> {
    secrets.seal("", purpose); // throws if there is no key at all: then nothing is removed
    log.warn({}, "cannot decrypt the VAPID key; created a new one, so browsers must subscribe to notifications again");
    await db.transaction().execute(async (trx) => {
      await trx.deleteFrom("push_subscriptions").execute();
      await trx.deleteFrom("push_keys").execute();
    });
    return create();
  }

  return async () => {
    try {
      return (await stored()) ?? (await create());
    } catch (error) {
      if (!hasCode(error, "store_unavailable")) throw error;
      return replace();
    }
  };
}

function newKeys(): VapidKeys {
  const pair = createECDH("prime256v1");
  pair.generateKeys();
  return {
    publicKey: padded(pair.getPublicKey(), publicKeyBytes),
    privateKey: padded(pair.getPrivateKey(), privateKeyBytes),
  };
}

/** Leading zero bytes are missing in about one of 256 keys. */
function padded(key: Buffer, sizeBytes: number): string {
  return Buffer.concat([Buffer.alloc(sizeBytes - key.length), key]).toString("base64url");
}
