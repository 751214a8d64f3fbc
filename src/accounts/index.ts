import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Tables } from "../storage/schema.ts";
import { scopes } from "../wire/access.ts";
import { type Account, createAccountStore } from "./account-store.ts";
import { createPersonalTokens, type PersonalTokens, type ValidToken } from "./personal-tokens.ts";
import type { Credentials, Principal } from "./principal.ts";
import { createTerminalTickets, type TerminalTickets } from "./terminal-tickets.ts";

export type { Account } from "./account-store.ts";
export type { NewToken, PersonalTokens } from "./personal-tokens.ts";
export { type AccountsErrorCode, type Credentials, type Principal, requireScope } from "./principal.ts";
export type { RedeemedTicket, TerminalTickets } from "./terminal-tickets.ts";

/** Who is calling, and the tokens that say so. */
export interface Accounts {
  readonly tokens: PersonalTokens;
  readonly tickets: TerminalTickets;
  /** The account that owns this gateway, made when it is first asked for. */
  owner(): Promise<Account>;
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

const allScopes = new Set(scopes);

/** @see Accounts */
export function createAccounts(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): Accounts {
  const accounts = createAccountStore(deps);
  const tokens = createPersonalTokens(deps);

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

  async function refresh({ kind, tokenId }: Principal): Promise<Principal> {
    if (kind === "socket" || kind === "open") return ownerAs(kind);
    return withToken(tokenId === null ? null : await tokens.findAgain(tokenId));
  }

  return {
    tokens,
    tickets: createTerminalTickets({ clock: deps.clock, refresh }),
    owner: () => accounts.owner(),
    async authenticate(credentials) {
      if (credentials.kind !== "header") return ownerAs(credentials.kind);
      return withToken(await tokens.find(bearerOf(credentials.authorization)));
    },
    refresh,
  };
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
