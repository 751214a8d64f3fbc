import { verify } from "node:crypto";
import type { Kysely } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import { compiledLookup } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import { createUseNotes } from "../storage/use-notes.ts";
import type { IssuedToken, OAuth } from "./oauth.ts";
import { type GatewayPlace, readScopes, resourceOfAudience } from "./resources.ts";
import { type SigningKeys, signingAlgorithm } from "./signing-keys.ts";

/** The claim that contains the grant's id. It identifies an app and is not secret. */
export const appClaim = "postern_app";

/** A JSON Web Signature in its compact form. */
const compactForm = /^([\w-]{1,1000})\.([\w-]{1,4000})\.([\w-]{1,1000})$/;

const headerSchema = z.looseObject({
  alg: z.literal(signingAlgorithm),
  typ: z.literal("at+jwt"),
  kid: z.string(),
  crit: z.undefined().optional(),
});

/** The claims of an access token that we use. Times are seconds since the epoch. */
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  aud: z.string(),
  exp: z.number(),
  client_id: z.string(),
  scope: z.string().default(""),
  [appClaim]: z.string(),
});

type AccessClaims = z.infer<typeof claimsSchema>;

/**
 * The claims of an access token that we signed and that has not expired; null for anything else. Uses the synchronous `verify` of Node,
 * because verifying in the thread pool takes five times as long.
 * @see RFC 9068 section 4
 */
async function readAccessJwt(
  token: string,
  { keys, place, now }: { readonly keys: SigningKeys; readonly place: () => GatewayPlace; readonly now: number },
): Promise<AccessClaims | null> {
  const [, header = "", claims = "", signature = ""] = compactForm.exec(token) ?? [];
  const kid = header === "" ? undefined : headerSchema.safeParse(readPart(header)).data?.kid;
  const key = kid === undefined ? null : await keys.find(kid);
  if (key === null) return null;
  const signed = Buffer.from(`${header}.${claims}`);
  if (!verify("sha256", signed, key.publicKey, Buffer.from(signature, "base64url"))) return null;
  const read = claimsSchema.safeParse(readPart(claims)).data;
  if (read === undefined || read.iss !== place().baseUrl || read.exp * 1_000 <= now) return null;
  return read;
}

function readPart(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    return null; // not JSON, so not one of our tokens
  }
}

const payloadSchema = z.object({ grantId: z.string(), scope: z.string().default(""), aud: z.string() });

/** The id to look a JWT up again: its claims, without the signature that makes it a token. */
const jwtTokenIdSchema = z.object({ appId: z.string(), scope: z.string(), aud: z.string(), exp: z.number() });
const jwtPrefix = "jwt.";

/** Access tokens, looked up without the library. */
export function createTokens(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly place: () => GatewayPlace;
  readonly keys: SigningKeys;
}): OAuth["tokens"] {
  const { db, clock } = deps;
  const findOpaque = compiledLookup(db, (idHash) =>
    db
      .selectFrom("oauth_records as token")
      .innerJoin("oauth_records as held", "held.id_hash", "token.grant_hash")
      .select(["token.kind", "token.payload", "token.expires_at", "token.account_id", "token.client_id"])
      .select(["held.kind as held_kind", "held.id_hash as held_hash", "held.last_used_at"])
      .select("held.expires_at as held_expires_at")
      .where("token.id_hash", "=", idHash),
  );
  const findGrant = compiledLookup(db, (idHash) =>
    db
      .selectFrom("oauth_records")
      .select(["kind", "account_id", "client_id", "last_used_at", "expires_at"])
      .where("id_hash", "=", idHash),
  );

  const noteUse = createUseNotes(clock, ({ id }, now) =>
    db
      .updateTable("oauth_records")
      .set({ last_used_at: now })
      .where("id_hash", "=", id)
      .where("kind", "=", "Grant")
      .execute(),
  );

  const isOver = (expiresAt: number | null): boolean => expiresAt === null || expiresAt <= clock.now();

  /** Whether it is in force: not expired, and its grant still exists. */
  async function opaque(tokenId: string): Promise<IssuedToken | null> {
    const row = await findOpaque(tokenId);
    if (row === undefined || row.kind !== "AccessToken" || row.held_kind !== "Grant") return null;
    const { account_id: accountId, client_id: clientId, expires_at: expiresAt } = row;
    if (accountId === null || clientId === null || expiresAt === null) return null;
    if (isOver(expiresAt) || isOver(row.held_expires_at)) return null;
    const { grantId: appId, scope, aud } = payloadSchema.parse(JSON.parse(row.payload));
    noteUse({ id: row.held_hash, lastUsedAt: row.last_used_at });
    const scopes = new Set(readScopes(scope));
    return { tokenId, accountId, app: { clientId, appId }, scopes, resource: resourceOfAudience(aud), expiresAt };
  }

  async function jwt(tokenId: string): Promise<IssuedToken | null> {
    const { appId, scope, aud, exp } = jwtTokenIdSchema.parse(JSON.parse(tokenId.slice(jwtPrefix.length)));
    const expiresAt = exp * 1_000;
    const held = await findGrant(sha256(appId));
    if (held === undefined || held.kind !== "Grant" || isOver(held.expires_at) || isOver(expiresAt)) return null;
    const { account_id: accountId, client_id: clientId } = held;
    if (accountId === null || clientId === null) return null;
    noteUse({ id: sha256(appId), lastUsedAt: held.last_used_at });
    const scopes = new Set(readScopes(scope));
    return { tokenId, accountId, app: { clientId, appId }, scopes, resource: resourceOfAudience(aud), expiresAt };
  }

  return {
    async find(token) {
      if (!token.includes(".")) return opaque(sha256(token));
      const claims = await readAccessJwt(token, { ...deps, now: clock.now() });
      if (claims === null) return null;
      const { postern_app: appId, scope, aud, exp } = claims;
      return jwt(jwtPrefix + JSON.stringify({ appId, scope, aud, exp }));
    },
    findAgain: (tokenId) => (tokenId.startsWith(jwtPrefix) ? jwt(tokenId) : opaque(tokenId)),
  };
}
