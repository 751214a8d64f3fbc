import type { JWTPayload, JWTVerifyGetKey, LocalJWKSet } from "jose";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { Scope } from "../wire/access.ts";
import type { FetchKeys } from "./ports.ts";

/** An external issuer whose access tokens are accepted, as configured by the owner. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
  /** The audience that its tokens must have. */
  readonly audience: string;
  /** Asymmetric algorithms only. */
  readonly algorithms: readonly string[];
  /** Maps a token's `sub` to the name of an account. */
  readonly accounts: Readonly<Record<string, string>>;
  /** The maximum scopes of its tokens. */
  readonly scopes: readonly Scope[];
}

/** A verified token of a trusted issuer. */
export interface IssuerToken {
  /** Identifies the token, but is not the token itself. */
  readonly tokenId: string;
  /** The account is not yet looked up. */
  readonly accountName: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Verifies access tokens of trusted issuers. @see RFC 9068 section 4 */
export interface TrustedIssuers {
  /** Whether a token claims to be from one of them. Nothing is verified. */
  claims(token: string): boolean;
  /** @returns null when the issuer did not issue it for this gateway, or it is not in force */
  verify(token: string): Promise<IssuerToken | null>;
}

/** The maximum clock difference between two machines. */
export const clockToleranceMs = 5_000;

/** The largest valid `Date`; later times are invalid. */
const lastMs = 8_640_000_000_000_000;
/** Maximum number of scopes to read from a token's `scope`, because the issuer decides how many it contains. */
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
        // For example, a published key that is invalid. A caller with such a token must not get a 500.
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

/** The unverified `iss` of a value that looks like a JWT; null for any other value. */
function claimedIssuer(token: string): string | null {
  const [, payload = "", signature, ...more] = token.split(".", 4);
  if (signature === undefined || more.length > 0) return null;
  try {
    const claims = claimedSchema.safeParse(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")));
    return claims.success ? claims.data.iss : null;
  } catch {
    return null; // not JSON, so not a JWT
  }
}

/** Minimum time between fetches for an unknown key: anyone can forge tokens. */
const askAgainMs = 60_000;
/** Older keys are fetched again before use: an issuer revokes a key by no longer publishing it. */
const freshMs = 10 * 60_000;
/** While the issuer is unreachable, its previous keys stay valid for this long. */
const staleMs = 60 * 60_000;
/** Maximum keys of an issuer; issuers have a handful. */
const maxKeys = 100;

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(maxKeys) });

interface IssuerKeysDeps {
  readonly jwksUri: string;
  readonly fetch: FetchKeys;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The public keys of one issuer, in the form that `jose` expects. They are fetched with the first token, and again when they are old or a
 * token has an unknown key id. Keys in the token's own header (`jwk`, `jku`, `x5c`, `x5u`) are never used.
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

  /** Fetches the keys, unless they were fetched a moment ago; concurrent callers share one fetch. */
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
