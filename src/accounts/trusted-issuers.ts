import type { JWTPayload, JWTVerifyGetKey, LocalJWKSet } from "jose";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { Scope } from "../wire/access.ts";
import type { FetchKeys } from "./ports.ts";

/** Somebody else whose access tokens are taken, as the owner configured it. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
  /** What its tokens must be for. */
  readonly audience: string;
  /** Asymmetric ones. */
  readonly algorithms: readonly string[];
  /** From a token's `sub` to the name of an account. */
  readonly accounts: Readonly<Record<string, string>>;
  /** What its tokens may at most. */
  readonly scopes: readonly Scope[];
}

/** A token of a trusted issuer, verified. */
export interface IssuerToken {
  /** Tells tokens apart; not the token. */
  readonly tokenId: string;
  /** The account is not looked up yet. */
  readonly accountName: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Verifies access tokens of trusted issuers. @see RFC 9068 section 4 */
export interface TrustedIssuers {
  /** Whether a token says that it is of one of them. Nothing of it is verified. */
  claims(token: string): boolean;
  /** @returns null when it is not one that its issuer made for here, or not in force */
  verify(token: string): Promise<IssuerToken | null>;
}

/** How far the clocks of two machines may differ. */
export const clockToleranceMs = 5_000;

/** Dates end there; what is later is no time. */
const lastMs = 8_640_000_000_000_000;
/** Of `scope`, so many are looked at. Somebody else decides how many there are. */
const maxScopes = 100;

const claimedSchema = z.looseObject({ iss: z.string() });

export function createTrustedIssuers(deps: {
  readonly issuers: readonly TrustedIssuer[];
  readonly fetch: FetchKeys;
  readonly clock: Clock;
  readonly log: Log;
}): TrustedIssuers {
  const known = new Map<string, TrustedIssuer & { readonly keys: JWTVerifyGetKey }>(
    deps.issuers.map((each) => [each.issuer, { ...each, keys: createIssuerKeys({ ...deps, jwksUri: each.jwksUri }) }]),
  );

  return {
    claims: (token) => known.size > 0 && known.has(claimedIssuer(token) ?? ""),
    async verify(token) {
      const by = known.get(claimedIssuer(token) ?? "");
      if (by === undefined) return null;
      const { errors, jwtVerify } = await import("jose");
      try {
        const { payload } = await jwtVerify(token, by.keys, {
          issuer: by.issuer,
          audience: by.audience,
          algorithms: [...by.algorithms],
          typ: "at+jwt", // also as application/at+jwt
          requiredClaims: ["iss", "aud", "sub", "exp"],
          clockTolerance: clockToleranceMs / 1_000,
          currentDate: new Date(deps.clock.now()),
        });
        return toToken(token, payload, by);
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        // A key that is published but is none, say. Whoever holds such a token is not to see a 500.
        deps.log.debug({ issuer: by.issuer }, "a token of a trusted issuer could not be verified");
        return null;
      }
    },
  };
}

function toToken(token: string, { sub, exp = 0, scope }: JWTPayload, by: TrustedIssuer): IssuerToken | null {
  const accountName = sub !== undefined && Object.hasOwn(by.accounts, sub) ? by.accounts[sub] : undefined;
  const expiresAt = exp * 1_000;
  if (accountName === undefined || !(expiresAt <= lastMs)) return null;
  const asked = typeof scope === "string" ? scope.split(" ", maxScopes) : [];
  const scopes = by.scopes.filter((each) => asked.includes(each));
  return { tokenId: sha256(token), accountName, scopes: new Set(scopes), expiresAt };
}

/** The `iss` of what looks like a JWT, unverified; null when it looks like none. */
function claimedIssuer(token: string): string | null {
  const [, payload = "", signature, ...more] = token.split(".", 4);
  if (signature === undefined || more.length > 0) return null;
  try {
    const claims = claimedSchema.safeParse(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")));
    return claims.success ? claims.data.iss : null;
  } catch {
    return null; // no JSON: no JWT
  }
}

/** A token's key that is not known makes its issuer be asked, this often at most: tokens are made up by anybody. */
const askAgainMs = 60_000;
/** Older keys are fetched anew before they are used: an issuer takes back a key by leaving it out. */
const freshMs = 10 * 60_000;
/** While the issuer cannot be reached, its keys of before count for so long. */
const staleMs = 60 * 60_000;
/** Issuers have a handful. */
const maxKeys = 100;

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(maxKeys) });

interface IssuerKeysDeps {
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
function createIssuerKeys({ jwksUri, fetch, clock, log }: IssuerKeysDeps): JWTVerifyGetKey {
  let keys: LocalJWKSet | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const { createLocalJWKSet } = await import("jose");
    try {
      const { status, body } = await fetch(jwksUri, { method: "GET", headers: { accept: "application/json" } });
      if (status !== 200) throw new Error(`HTTP status ${status}.`);
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
