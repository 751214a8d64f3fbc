import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import {
  type Account,
  type AccountStore,
  createAccountStore,
  createHolders,
  type RemoveWithAll,
} from "./account-store.ts";
import { type Audit, createAudit } from "./audit.ts";
import { type Audience, createAuthentication } from "./authentication.ts";
import { type BrowserSessions, createBrowserSessionStore } from "./browser-sessions.ts";
import { createPasskeyStore } from "./passkey-store.ts";
import { createPasskeys, type Passkeys } from "./passkeys.ts";
import { createPersonalTokens, type PersonalTokens } from "./personal-tokens.ts";
import type { AppTokens } from "./ports.ts";
import type { Credentials, Principal } from "./principal.ts";
import { createSignIn, type SignIn } from "./sign-in.ts";
import { createTerminalTickets, type TerminalTickets } from "./terminal-tickets.ts";
import type { TrustedIssuers } from "./trusted-issuers.ts";

export type { Account, AccountStore, RemoveWithAll } from "./account-store.ts";
export type { Audit, AuditNote, AuditOrigin } from "./audit.ts";
export type { Audience } from "./authentication.ts";
export { type BrowserRecord, type BrowserSessions, browserSessionLifeMs, type NewBrowser } from "./browser-sessions.ts";
export type { PasskeyOwner, PasskeyPage, Passkeys } from "./passkeys.ts";
export type { NewToken, PersonalTokens } from "./personal-tokens.ts";
export type { AppToken, AppTokens, FetchKeys } from "./ports.ts";
export {
  type AccountsErrorCode,
  AllowedFolders,
  type Credentials,
  callerOf,
  type Principal,
  requireScope,
} from "./principal.ts";
export type { NewSignInLink, SignIn } from "./sign-in.ts";
export type { RedeemedTicket, TerminalTickets } from "./terminal-tickets.ts";
export { createTrustedIssuers, type TrustedIssuer, type TrustedIssuers } from "./trusted-issuers.ts";

/** Identifies callers, and manages their tokens. */
export interface Accounts {
  readonly tokens: PersonalTokens;
  readonly signIn: SignIn;
  readonly browsers: BrowserSessions;
  readonly tickets: TerminalTickets;
  readonly directory: Pick<AccountStore, "list" | "find" | "add" | "remove">;
  readonly audit: Audit;
  readonly passkeys: Passkeys;
  /** The account that owns this gateway, created on first use. */
  owner(): Promise<Account>;
  /** @throws PosternError `unauthenticated` when the account no longer exists */
  accountOf(principal: Principal): Promise<Account>;
  /**
   * The only way to obtain a {@link Principal}, for every route and every kind of credential.
   * @param door `api` when omitted: a token issued for `/mcp` is then refused
   * @throws PosternError `unauthenticated`
   */
  authenticate(credentials: Credentials, audience?: Audience): Promise<Principal>;
  /**
   * The browser session that these cookies belong to, without checking the key. Use it to render a page, or to decide for a page on
   * https. On http, any port of the host can read and send the cookie, so it must not decide anything there.
   * @returns null when no cookie belongs to a browser session in force
   */
  browserOf(cookies: readonly string[]): Promise<Principal | null>;
  /**
   * Looks up the same caller again without its credentials, for connections that stay open.
   * @param options `notesUse`: whether this counts as a use, which keeps a browser signed in; true by default
   * @throws PosternError `unauthenticated` when its token or browser session is revoked or expired
   */
  refresh(principal: Principal, options?: { readonly notesUse: boolean }): Promise<Principal>;
}

const noAppTokens: AppTokens = { find: async () => null, findAgain: async () => null };

const noIssuers: TrustedIssuers = { claims: () => false, verify: async () => null };

export function createAccounts(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log?: Log;
  /** Omitted when there is no authorization server. */
  readonly appTokens?: AppTokens;
  /** Omitted when no other issuer is trusted. */
  readonly issuers?: TrustedIssuers;
  /** Removes an account together with the data that other modules keep for it. */
  readonly removeWithAll?: RemoveWithAll;
}): Accounts {
  const { appTokens = noAppTokens, issuers = noIssuers } = deps;
  const accounts = createAccountStore(deps);
  const tokens = createPersonalTokens(deps);
  const browsers = createBrowserSessionStore(deps);
  const audit = createAudit(deps);

  const { authenticate, refresh, inBrowser } = createAuthentication({
    clock: deps.clock,
    owner: () => accounts.owner(),
    holders: createHolders(deps.db),
    tokens,
    browsers,
    appTokens,
    issuers,
  });

  return {
    tokens,
    signIn: createSignIn({ ...deps, browsers }),
    browsers,
    tickets: createTerminalTickets({ clock: deps.clock, refresh }),
    directory: accounts,
    audit,
    passkeys: createPasskeys({ clock: deps.clock, store: createPasskeyStore(deps), audit, browsers }),
    owner: () => accounts.owner(),
    async accountOf({ accountId }) {
      const account = await accounts.find(accountId);
      if (account !== null) return account;
      throw new PosternError("unauthenticated", "The caller's account no longer exists.");
    },
    authenticate,
    async browserOf(cookies) {
      const valid = await browsers.findByCookie(cookies);
      return valid === null ? null : inBrowser(valid);
    },
    refresh,
  };
}
