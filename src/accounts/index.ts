import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import { type Account, type AccountStore, createAccountStore } from "./account-store.ts";
import { type Audit, createAudit } from "./audit.ts";
import { type BrowserSessions, createBrowserSessionStore, type ValidBrowser } from "./browser-sessions.ts";
import { createPersonalTokens, type PersonalTokens, tokenPrefix, type ValidToken } from "./personal-tokens.ts";
import type { AppToken, AppTokens } from "./ports.ts";
import type { Credentials, Principal } from "./principal.ts";
import { createSignIn, type SignIn } from "./sign-in.ts";
import { createTerminalTickets, type TerminalTickets } from "./terminal-tickets.ts";

export type { Account, AccountStore } from "./account-store.ts";
export type { Audit, AuditNote, AuditOrigin } from "./audit.ts";
export { type BrowserRecord, type BrowserSessions, browserSessionLifeMs, type NewBrowser } from "./browser-sessions.ts";
export type { NewToken, PersonalTokens } from "./personal-tokens.ts";
export type { AppToken, AppTokens } from "./ports.ts";
export { type AccountsErrorCode, type Credentials, type Principal, requireScope } from "./principal.ts";
export type { NewSignInLink, SignIn } from "./sign-in.ts";
export type { RedeemedTicket, TerminalTickets } from "./terminal-tickets.ts";

/** Who is calling, and the tokens that say so. */
export interface Accounts {
  readonly tokens: PersonalTokens;
  readonly signIn: SignIn;
  readonly browsers: BrowserSessions;
  readonly tickets: TerminalTickets;
  readonly directory: Pick<AccountStore, "list" | "find" | "add" | "remove">;
  readonly audit: Audit;
  /** The account that owns this gateway, made when it is first asked for. */
  owner(): Promise<Account>;
  /** @throws PosternError `unauthenticated` when the account is gone */
  accountOf(principal: Principal): Promise<Account>;
  /**
   * The one way to a {@link Principal}, for every route and every kind of credential.
   * @throws PosternError `unauthenticated`
   */
  authenticate(credentials: Credentials): Promise<Principal>;
  /**
   * Whose browser sends these cookies, without the key: to render a page for them, and for a decision of a page on https. On http any
   * port of the host can read and show the cookie, so there it decides nothing.
   * @returns null when none of them is of a browser session in force
   */
  browserOf(cookies: readonly string[]): Promise<Principal | null>;
  /**
   * The same caller looked up again, without its credentials: for what stays open long after it was let in.
   * @throws PosternError `unauthenticated` when its token or browser session is revoked or expired
   */
  refresh(principal: Principal): Promise<Principal>;
}

const noAppTokens: AppTokens = { find: async () => null, findAgain: async () => null };

/** What of a {@link Principal} most kinds do not have. */
const nothingElse = {
  folders: null,
  tokenId: null,
  browserSessionId: null,
  app: null,
  resource: "all",
  expiresAt: null,
} as const;

/** @see Accounts */
export function createAccounts(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log?: Log;
  /** None when there is no authorization server. */
  readonly appTokens?: AppTokens;
}): Accounts {
  const { appTokens = noAppTokens } = deps;
  const accounts = createAccountStore(deps);
  const tokens = createPersonalTokens(deps);
  const browsers = createBrowserSessionStore(deps);

  /** What an account may at most. */
  async function heldBy(accountId: string): Promise<ReadonlySet<Scope>> {
    return new Set((await accounts.find(accountId))?.scopes);
  }

  async function within(scopes: ReadonlySet<Scope>, accountId: string): Promise<ReadonlySet<Scope>> {
    const held = await heldBy(accountId);
    return new Set([...scopes].filter((scope) => held.has(scope)));
  }

  async function ownerAs(kind: "socket" | "open"): Promise<Principal> {
    const { accountId, scopes } = await accounts.owner();
    return { ...nothingElse, kind, accountId, scopes: new Set(scopes) };
  }

  async function withToken(valid: ValidToken | null): Promise<Principal> {
    if (valid === null) throw invalidToken();
    return { ...nothingElse, kind: "token", ...valid, scopes: await within(valid.scopes, valid.accountId) };
  }

  async function withAppToken(valid: AppToken | null): Promise<Principal> {
    if (valid === null) throw invalidToken();
    return { ...nothingElse, kind: "app", ...valid, scopes: await within(valid.scopes, valid.accountId) };
  }

  /** A signed-in browser may what its account may. */
  async function inBrowser(valid: ValidBrowser | null): Promise<Principal> {
    if (valid === null) throw new PosternError("unauthenticated", "This browser is not signed in, or not any more.");
    return { ...nothingElse, kind: "browser", ...valid, scopes: await heldBy(valid.accountId) };
  }

  async function withBearer(token: string): Promise<Principal> {
    return token.startsWith(tokenPrefix)
      ? withToken(await tokens.find(token))
      : withAppToken(await appTokens.find(token));
  }

  async function refresh({ kind, tokenId, browserSessionId }: Principal): Promise<Principal> {
    if (kind === "token") return withToken(tokenId === null ? null : await tokens.findAgain(tokenId));
    if (kind === "browser") {
      return inBrowser(browserSessionId === null ? null : await browsers.findAgain(browserSessionId));
    }
    if (kind === "app" || kind === "jwt")
      return withAppToken(tokenId === null ? null : await appTokens.findAgain(tokenId));
    return ownerAs(kind);
  }

  return {
    tokens,
    signIn: createSignIn({ ...deps, browsers }),
    browsers,
    tickets: createTerminalTickets({ clock: deps.clock, refresh }),
    directory: accounts,
    audit: createAudit(deps),
    owner: () => accounts.owner(),
    async accountOf({ accountId }) {
      const account = await accounts.find(accountId);
      if (account !== null) return account;
      throw new PosternError("unauthenticated", "The caller's account is gone.");
    },
    async authenticate(credentials) {
      if (credentials.kind === "header") return withBearer(bearerOf(credentials.authorization));
      if (credentials.kind === "browser") return inBrowser(await browsers.find(bothOf(credentials)));
      return ownerAs(credentials.kind);
    },
    async browserOf(cookies) {
      const valid = await browsers.findByCookie(cookies);
      return valid === null ? null : inBrowser(valid);
    },
    refresh,
  };
}

function invalidToken(): PosternError {
  return new PosternError("unauthenticated", "The token is unknown, expired or revoked.", {
    details: { error: "invalid_token" },
  });
}

/** A page on another port of the host gets the cookie with its requests; the key lies in the storage of our origin alone. */
function bothOf({ cookies, key }: Extract<Credentials, { readonly kind: "browser" }>): {
  readonly cookies: readonly string[];
  readonly key: string;
} {
  if (key !== undefined && cookies.length > 0) return { cookies, key };
  const missing = key === undefined ? "the key of its sign-in is" : "its cookie is";
  throw new PosternError("unauthenticated", `This browser is not signed in here: ${missing} missing.`);
}

/** @see RFC 6750 section 2.1, RFC 9110 section 11.1 (the scheme's case does not matter) */
function bearerOf(authorization: string | undefined): string {
  const token = /^bearer +([\w.~+/-]+=*) *$/i.exec(authorization ?? "")?.[1];
  if (token !== undefined) return token;
  throw new PosternError(
    "unauthenticated",
    "Send a token as `Authorization: Bearer <token>`. `postern token create` makes one.",
  );
}
