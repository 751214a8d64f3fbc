import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Scope } from "../wire/access.ts";
import { type Account, bothHold, type Holder, type Holders } from "./account-store.ts";
import type { BrowserSessionStore, ValidBrowser } from "./browser-sessions.ts";
import { type PersonalTokens, tokenPrefix, type ValidToken } from "./personal-tokens.ts";
import type { AppToken, AppTokens } from "./ports.ts";
import type { Credentials, Principal, Resource } from "./principal.ts";
import { clockToleranceMs, type IssuerToken, type TrustedIssuers } from "./trusted-issuers.ts";

/** What a caller wants to reach: the API and its sockets, or `/mcp`. */
export type Audience = "api" | "mcp";

/** Identifies the caller. */
export interface Authentication {
  /** @throws PosternError `unauthenticated` */
  authenticate(credentials: Credentials, audience?: Audience): Promise<Principal>;
  /** @throws PosternError `unauthenticated` */
  refresh(principal: Principal, options?: { readonly notesUse: boolean }): Promise<Principal>;
  /** A signed-in browser can do what its account can. @throws PosternError `unauthenticated` */
  inBrowser(valid: ValidBrowser | null): Promise<Principal>;
}

export interface AuthenticationDeps {
  readonly clock: Clock;
  readonly owner: () => Promise<Account>;
  readonly holders: Holders;
  readonly tokens: PersonalTokens;
  readonly browsers: BrowserSessionStore;
  readonly appTokens: AppTokens;
  readonly issuers: TrustedIssuers;
}

/** Longer tokens are rejected unread. Access tokens in JWT form take one or two KB. */
const maxTokenLength = 8 * 1024;

/** Fields of {@link Principal} that most kinds do not have. */
const nothingElse = {
  folders: null,
  tokenId: null,
  browserSessionId: null,
  app: null,
  resource: "all",
  expiresAt: null,
} as const;

export function createAuthentication(deps: AuthenticationDeps): Authentication {
  const { clock, holders, tokens, browsers, appTokens, issuers } = deps;

  async function ownerAs(kind: "socket" | "open"): Promise<Principal> {
    const { accountId, scopes } = await deps.owner();
    return { ...nothingElse, kind, accountId, scopes: new Set(scopes) };
  }

  function withToken(valid: ValidToken | null): Principal {
    if (valid === null) throw invalidToken();
    return { ...nothingElse, kind: "token", ...valid };
  }

  async function withAppToken(valid: AppToken | null): Promise<Principal> {
    const holder = valid && (await holders.byId(valid.accountId));
    if (valid === null || holder === null) throw invalidToken();
    return { ...nothingElse, kind: "app", ...valid, scopes: forApps(valid.scopes, holder) };
  }

  async function withIssuerToken(valid: IssuerToken | null): Promise<Principal> {
    const holder = valid && (await holders.byName(valid.accountName));
    if (valid === null || holder === null) throw invalidToken();
    const { tokenId, expiresAt } = valid;
    const { accountId } = holder;
    return { ...nothingElse, kind: "jwt", accountId, tokenId, expiresAt, scopes: forApps(valid.scopes, holder) };
  }

  /** An issuer's token cannot be revoked before it expires, but its account can be removed. */
  async function issuerTokenAgain(principal: Principal): Promise<Principal> {
    const holder = await holders.byId(principal.accountId);
    const over = (principal.expiresAt ?? 0) + clockToleranceMs <= clock.now();
    if (over || holder === null) throw invalidToken();
    return { ...principal, scopes: forApps(principal.scopes, holder) };
  }

  async function inBrowser(valid: ValidBrowser | null): Promise<Principal> {
    const holder = valid && (await holders.byId(valid.accountId));
    if (valid === null || holder === null) {
      throw new PosternError("unauthenticated", "This browser is not signed in. Sign in again.");
    }
    return { ...nothingElse, kind: "browser", ...valid, scopes: holder.held };
  }

  async function withBearer(token: string): Promise<Principal> {
    if (token.length > maxTokenLength) throw invalidToken();
    if (token.startsWith(tokenPrefix)) return withToken(await tokens.find(token));
    if (issuers.claims(token)) return withIssuerToken(await issuers.verify(token));
    return withAppToken(await appTokens.find(token));
  }

  return {
    inBrowser,
    async authenticate(credentials, audience = "api") {
      if (credentials.kind === "header") {
        return goodAt(audience, await withBearer(bearerOf(credentials.authorization)));
      }
      if (credentials.kind === "browser") return inBrowser(await browsers.find(bothOf(credentials)));
      return ownerAs(credentials.kind);
    },
    async refresh(principal, options = { notesUse: true }) {
      const { kind, tokenId, browserSessionId } = principal;
      if (kind === "token") return withToken(tokenId === null ? null : await tokens.findAgain(tokenId, options));
      if (kind === "app") return withAppToken(tokenId === null ? null : await appTokens.findAgain(tokenId));
      if (kind === "jwt") return issuerTokenAgain(principal);
      if (kind !== "browser") return ownerAs(kind);
      return inBrowser(browserSessionId === null ? null : await browsers.findAgain(browserSessionId, options));
    },
  };
}

/** The scopes that an app or an issuer's token was granted and the account still holds. Never `admin`, whatever the token contains. */
function forApps(scopes: ReadonlySet<Scope>, { held }: Holder): ReadonlySet<Scope> {
  const both = new Set(bothHold(scopes, held));
  both.delete("admin");
  return both;
}

/** A token issued for `/mcp` is valid nowhere else. @see RFC 8707 section 2, RFC 9068 section 4 (`aud`) */
function goodAt(audience: Audience, principal: Principal): Principal {
  const good: Record<Resource, boolean> = { all: true, mcp: audience === "mcp" };
  if (good[principal.resource]) return principal;
  throw new PosternError("unauthenticated", "This token is valid for /mcp only.", {
    details: { error: "invalid_token" },
  });
}

function invalidToken(): PosternError {
  return new PosternError("unauthenticated", "The token is unknown, expired or revoked.", {
    details: { error: "invalid_token" },
  });
}

/** A page on another port of the host receives the cookie as well; only our origin's storage has the key. */
function bothOf({ cookies, key }: Extract<Credentials, { readonly kind: "browser" }>): {
  readonly cookies: readonly string[];
  readonly key: string;
} {
  if (key !== undefined && cookies.length > 0) return { cookies, key };
  const missing = key === undefined ? "sign-in key" : "cookie";
  throw new PosternError("unauthenticated", `This browser is not signed in here: its ${missing} is missing.`);
}

/** @see RFC 6750 section 2.1, RFC 9110 section 11.1 (the scheme is case-insensitive) */
function bearerOf(authorization: string | undefined): string {
  const [, shown, token] = /^bearer +(([\w.~+/-]+=*) *$|.)/i.exec(authorization ?? "") ?? [];
  if (token !== undefined) return token;
  if (shown !== undefined) throw invalidToken(); // no token has this form
  throw new PosternError(
    "unauthenticated",
    "Send a token as `Authorization: Bearer <token>`. Create one with `postern token create`.",
  );
}
