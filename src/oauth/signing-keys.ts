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

/** A key that signs access tokens, or used to. */
export interface SigningKey {
  readonly kid: string;
  readonly privateJwk: JsonWebKey;
  /** The public key, with `kid`, `alg` and `use`. */
  readonly publicJwk: JsonWebKey;
  readonly publicKey: KeyObject;
  readonly createdAt: number;
  /** When the last token it signed expires. */
  readonly expiresAt: number | null;
}

/**
 * Signing keys for JWT access tokens, shared by all gateways on the store. A new key is published for a while before it signs, and an old
 * one verifies until its last token expires, so clients are not affected. Keys that cannot be decrypted (the key file was replaced) are
 * ignored.
 */
export interface SigningKeys {
  /** The keys that verify, newest first. */
  all(): Promise<readonly SigningKey[]>;
  /** Null when no key has this id, or it no longer verifies. */
  find(kid: string): Promise<SigningKey | null>;
  /** The key that signs now; created when there is none. */
  signing(): Promise<SigningKey>;
  /** Creates the next key when it is due, and removes keys that no longer verify anything. */
  rotate(): Promise<void>;
}

/** RFC 9068 section 2.1 requires every issuer and reader of such tokens to support RS256. */
export const signingAlgorithm = "RS256";
const modulusBits = 2_048;
/** How soon another gateway's new key is read. A new key is published for longer than this before it signs. */
const readStepMs = 60_000;
/** Minimum time between lookups in the store for an unknown key, because anyone can send an unknown key id. */
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
  /** Ids of stored keys that cannot be decrypted and were already logged. */
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

  /** Null for a key encrypted with another key file: the key is lost, and so are the tokens it signed. */
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

  /** Retires the key, unless another gateway already did; the one that retires it adds the next. */
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
      // The newest key that all gateways and clients had time to read; the very first key is used at once.
      const shown = keys.find(({ createdAt }) => createdAt + lifetimes.keyNoticeMs <= clock.now()) ?? keys.at(-1);
      if (shown === undefined) throw new Error("A signing key was created but cannot be found.");
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
