import type { JWTVerifyGetKey, LocalJWKSet } from "jose";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { FetchKeys } from "./ports.ts";

/** A token's key that is not known makes its issuer be asked, this often at most: tokens are made up by anybody. */
const askAgainMs = 60_000;
/** Older keys are fetched anew before they are used: an issuer takes back a key by leaving it out. */
const freshMs = 10 * 60_000;
/** While the issuer cannot be reached, its keys of before count for so long. */
const staleMs = 60 * 60_000;
/** Issuers have a handful. */
const maxKeys = 100;

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(maxKeys) });

/** What {@link createIssuerKeys} needs. */
export interface IssuerKeysDeps {
  readonly jwksUri: string;
  readonly fetch: FetchKeys;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The public keys of one issuer, as `jose` asks for them: fetched when the first token comes, and again when they are old or a token names
 * one that is not known. What a token's own head says of keys (`jwk`, `jku`, `x5c`, `x5u`) is never looked at.
 *
 * @see RFC 7517, RFC 8725 section 3.10
 */
export function createIssuerKeys({ jwksUri, fetch, clock, log }: IssuerKeysDeps): JWTVerifyGetKey {
  let keys: LocalJWKSet | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const { createLocalJWKSet } = await import("jose");
    try {
      const { status, body } = await fetch(jwksUri, { method: "GET", headers: { accept: "application/json" } });
      if (status !== 200) throw new Error(`The answer was ${status}.`);
      keys = createLocalJWKSet(jwksSchema.parse(JSON.parse(body)));
      fetchedAt = clock.now();
    } catch (error) {
      log.warn({ jwksUri, reason: messageOf(error) }, "cannot fetch the keys of a trusted issuer");
    }
  }

  /** Asks, unless it did a moment ago; who comes meanwhile waits for the same answer. */
  function refetch(): Promise<void> {
    if (asking !== undefined) return asking;
    if (clock.now() - askedAt < askAgainMs) return Promise.resolve();
    askedAt = clock.now();
    asking = ask().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return async (head, token) => {
    const { errors } = await import("jose");
    if (clock.now() - fetchedAt > freshMs) await refetch();
    if (keys === undefined || clock.now() - fetchedAt > staleMs) throw new errors.JWKSNoMatchingKey();
    try {
      return await keys(head, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refetch();
      return keys(head, token);
    }
  };
}
