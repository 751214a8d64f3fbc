import { createPrivateKey, createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { Insertable, Kysely } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { type Log, silentLog } from "../core/log.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import type { Tables } from "../storage/schema.ts";
import { lifetimes } from "./lifetimes.ts";
import type { SecretBox } from "./ports.ts";

/** A key that signs access tokens, or did. */
export interface SigningKey {
  readonly kid: string;
  readonly privateJwk: JsonWebKey;
  /** As others see it, with `kid`, `alg` and `use`. */
  readonly publicJwk: JsonWebKey;
  readonly publicKey: KeyObject;
  readonly createdAt: number;
  /** When the last token that it signed is over. */
  readonly expiresAt: number | null;
}

/**
 * Keys of access tokens that are JWTs, in the store, for every gateway on it. A new one is shown for a while before it signs, and an old
 * one verifies until its last token is over: no client notices. A key that does not open (the key file was exchanged) counts as none.
 */
export interface SigningKeys {
  /** Those that verify, the newest first. */
  all(): Promise<readonly SigningKey[]>;
  /** Null when there is none of this id, or not any more. */
  find(kid: string): Promise<SigningKey | null>;
  /** The one that signs now; made when there is none. */
  signing(): Promise<SigningKey>;
  /** Makes the next one when it is time, and forgets what verifies nothing any more. */
  rotate(): Promise<void>;
}

/** RFC 9068 section 2.1 asks for RS256 in everybody who makes or reads such tokens. */
export const signingAlgorithm = "RS256";
const modulusBits = 2_048;
/** Another gateway's new key is known here after so long, and it is shown for longer before it signs. */
const readStepMs = 60_000;
/** So often at most the store is asked for a key that nobody has heard of: strangers may name any. */
const unknownStepMs = 5_000;

const jwkSchema = z.looseObject({ kty: z.literal("RSA"), n: z.string(), e: z.string(), d: z.string() });
const makeKeyPair = promisify(generateKeyPair);

export function createSigningKeys(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly log?: Log;
}): SigningKeys {
  const { db, clock, secrets, log = silentLog } = deps;
  let known: { readonly keys: readonly SigningKey[]; readonly readAt: number } | undefined;
  const once = createSingleFlight<readonly SigningKey[]>();
  /** Ids of keys that do not open and were complained of, of those that are in the store. */
  let locked: ReadonlySet<string> = new Set();

  async function read(): Promise<readonly SigningKey[]> {
    const readAt = clock.now();
    const rows = await db
      .selectFrom("oauth_keys")
      .selectAll()
      .where("purpose", "=", "signing")
      .orderBy("created_at", "desc")
      .orderBy("key_id")
      .execute();
    const before = new Map(known?.keys.map((key) => [key.kid, key]));
    const lockedNow = new Set<string>();
    const keys = rows.flatMap(({ key_id: kid, sealed, created_at: createdAt, expires_at: expiresAt }) => {
      const opened = before.get(kid) ?? open(kid, sealed);
      if (opened === null) lockedNow.add(kid);
      return opened === null ? [] : [{ ...opened, createdAt, expiresAt }];
    });
    locked = lockedNow;
    known = { keys, readAt };
    return keys;
  }

  /** Null for a key that was sealed with another key file: it is as good as lost, and what it signed with it. */
  function open(kid: string, sealed: string): OpenedKey | null {
    try {
      return openKey(kid, secrets.open(sealed, purposeOf(kid)));
    } catch (error) {
      if (!locked.has(kid)) log.error({ kid, reason: messageOf(error) }, "cannot decrypt a signing key");
      return null;
    }
  }

  async function atMostSince(ageMs: number): Promise<readonly SigningKey[]> {
    const keys = known !== undefined && clock.now() - known.readAt < ageMs ? known.keys : await once("read", read);
    return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > clock.now());
  }

  async function newRow(): Promise<Insertable<Tables["oauth_keys"]>> {
    const kid = newUuid();
    const { privateKey } = await makeKeyPair("rsa", { modulusLength: modulusBits });
    const sealed = secrets.seal(JSON.stringify(privateKey.export({ format: "jwk" })), purposeOf(kid));
    const created_at = clock.now();
    return { key_id: kid, purpose: "signing", sealed, created_at, retired_at: null, expires_at: null };
  }

  /** Retires the key, unless another gateway did; whoever did adds the next one. */
  async function replace(kid: string): Promise<void> {
    const next = await newRow();
    const retired_at = clock.now() + lifetimes.keyNoticeMs;
    const expires_at = retired_at + lifetimes.accessTokenMs + lifetimes.keyNoticeMs;
    await db.transaction().execute(async (within) => {
      const { numUpdatedRows } = await within
        .updateTable("oauth_keys")
        .set({ retired_at, expires_at })
        .where("key_id", "=", kid)
        .where("retired_at", "is", null)
        .executeTakeFirst();
      if (numUpdatedRows > 0n) await within.insertInto("oauth_keys").values(next).execute();
    });
  }

  async function rotate(): Promise<void> {
    const [newest] = await atMostSince(0);
    if (newest === undefined)
      await db
        .insertInto("oauth_keys")
        .values(await newRow())
        .execute();
    else if (newest.createdAt + lifetimes.signingKeyMs <= clock.now()) await replace(newest.kid);
    await db.deleteFrom("oauth_keys").where("expires_at", "<=", clock.now()).execute();
    await atMostSince(0);
  }

  return {
    all: () => atMostSince(readStepMs),
    async find(kid) {
      const byId = (key: SigningKey): boolean => key.kid === kid;
      return (await atMostSince(readStepMs)).find(byId) ?? (await atMostSince(unknownStepMs)).find(byId) ?? null;
    },
    async signing() {
      let keys = await atMostSince(readStepMs);
      if (keys.length === 0) {
        await once("rotate", async () => {
          await rotate();
          return [];
        });
        keys = await atMostSince(readStepMs);
      }
      // The newest that everybody had the time to see; the first of all signs at once.
      const shown = keys.find(({ createdAt }) => createdAt + lifetimes.keyNoticeMs <= clock.now()) ?? keys.at(-1);
      if (shown === undefined) throw new Error("A signing key was made but is not there.");
      return shown;
    },
    rotate,
  };
}

type OpenedKey = Omit<SigningKey, "createdAt" | "expiresAt">;

function openKey(kid: string, text: string): OpenedKey {
  const jwk = { ...jwkSchema.parse(JSON.parse(text)), kid, alg: signingAlgorithm, use: "sig" };
  const publicKey = createPublicKey(createPrivateKey({ key: jwk, format: "jwk" }));
  const publicJwk = { kty: jwk.kty, n: jwk.n, e: jwk.e, kid, alg: jwk.alg, use: jwk.use };
  return { kid, privateJwk: jwk, publicJwk, publicKey };
}

function purposeOf(kid: string): string {
  return `oauth key ${kid}`;
}
