import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { Scope } from "../wire/access.ts";
import { createIssuerKeys } from "./issuer-keys.ts";
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

/** @see TrustedIssuers */
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
