import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Tables } from "../storage/schema.ts";
import { type Scope, scopes } from "../wire/access.ts";
import { type Account, createAccountStore } from "./account-store.ts";
import { type BrowserSessions, createBrowserSessionStore, type ValidBrowser } from "./browser-sessions.ts";
import { createPersonalTokens, type PersonalTokens, type ValidToken } from "./personal-tokens.ts";
import type { Credentials, Principal } from "./principal.ts";
import { createSignIn, type SignIn } from "./sign-in.ts";
import { createTerminalTickets, type TerminalTickets } from "./terminal-tickets.ts";

export type { Account } from "./account-store.ts";
export { type BrowserRecord, type BrowserSessions, browserSessionLifeMs, type NewBrowser } from "./browser-sessions.ts";
export type { NewToken, PersonalTokens } from "./personal-tokens.ts";
export { type AccountsErrorCode, type Credentials, type Principal, requireScope } from "./principal.ts";
export type { NewSignInLink, SignIn } from "./sign-in.ts";
export type { RedeemedTicket, TerminalTickets } from "./terminal-tickets.ts";

/** Who is calling, and the tokens that say so. */
export interface Accounts {
  readonly tokens: PersonalTokens;
  readonly signIn: SignIn;
  readonly browsers: BrowserSessions;
  readonly tickets: TerminalTickets;
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
   * The same caller looked up again, without its credentials: for what stays open long after it was let in.
   * @throws PosternError `unauthenticated` when its token or browser session is revoked or expired
   */
  refresh(principal: Principal): Promise<Principal>;
}

const allScopes: ReadonlySet<Scope> = new Set(scopes);
const noScopes: ReadonlySet<Scope> = new Set();

/** @see Accounts */
export function createAccounts(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): Accounts {
  const accounts = createAccountStore(deps);
  const tokens = createPersonalTokens(deps);
  const browsers = createBrowserSessionStore(deps);

  async function ownerAs(kind: "socket" | "open"): Promise<Principal> {
    const { accountId } = await accounts.owner();
    return { accountId, kind, scopes: allScopes, folders: null, tokenId: null, browserSessionId: null };
  }

  function withToken(valid: ValidToken | null): Principal {
    if (valid !== null) return { kind: "token", browserSessionId: null, ...valid };
    throw new PosternError("unauthenticated", "The token is unknown, expired or revoked.", {
      details: { error: "invalid_token" },
    });
  }

  /** A signed-in browser may what its account may; so far every account but the owner may nothing. */
  async function inBrowser(valid: ValidBrowser | null): Promise<Principal> {
    if (valid === null) throw new PosternError("unauthenticated", "This browser is not signed in, or not any more.");
    const { accountId } = await accounts.owner();
    const held = valid.accountId === accountId ? allScopes : noScopes;
    return { kind: "browser", scopes: held, folders: null, tokenId: null, ...valid };
  }

  async function refresh({ kind, tokenId, browserSessionId }: Principal): Promise<Principal> {
    if (kind === "token") return withToken(tokenId === null ? null : await tokens.findAgain(tokenId));
    if (kind === "browser") {
      return inBrowser(browserSessionId === null ? null : await browsers.findAgain(browserSessionId));
    }
    return ownerAs(kind);
  }

  return {
    tokens,
    signIn: createSignIn({ ...deps, browsers }),
    browsers,
    tickets: createTerminalTickets({ clock: deps.clock, refresh }),
    owner: () => accounts.owner(),
    async accountOf({ accountId }) {
      const account = await accounts.find(accountId);
      if (account !== null) return account;
      throw new PosternError("unauthenticated", "The caller's account is gone.");
    },
    async authenticate(credentials) {
      if (credentials.kind === "header") return withToken(await tokens.find(bearerOf(credentials.authorization)));
      if (credentials.kind === "browser") return inBrowser(await browsers.find(bothOf(credentials)));
      return ownerAs(credentials.kind);
    },
    refresh,
  };
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
