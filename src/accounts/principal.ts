import { PosternError } from "../core/errors.ts";
import type { FolderScope, Scope } from "../wire/access.ts";

/** Who is calling, and what they may do. */
export interface Principal {
  readonly accountId: string;
  /**
   * `socket`: over the owner's Unix socket. `token`: with a personal token. `browser`: a page of a signed-in browser. `app`: with an
   * access token of the authorization server. `jwt`: with a token of a trusted issuer. `open`: anybody, with `POSTERN_AUTH=none`.
   */
  readonly kind: "socket" | "token" | "browser" | "app" | "jwt" | "open";
  /** What the credential was given and its account still holds. */
  readonly scopes: ReadonlySet<Scope>;
  /** Real paths of the folders that the caller is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
  /** Of a personal token its id; of an app's or an issuer's token what it can be looked up by again, which is no secret. */
  readonly tokenId: string | null;
  readonly browserSessionId: string | null;
  /** The app that an access token was given to. */
  readonly app: AppIdentity | null;
  /** What the credential is good for: `mcp` at `/mcp` only, as the token's audience says (RFC 8707). */
  readonly resource: Resource;
  /** Milliseconds since the epoch; null for what does not end by itself. */
  readonly expiresAt: number | null;
  /** Notes each folder that the folder rule allows the caller; of a request or a socket, which depends on them. */
  readonly allowed?: AllowedFolders;
}

/** An app, and the decision that let it in. */
export interface AppIdentity {
  readonly clientId: string;
  readonly appId: string;
}

/** Where a token is good. */
export type Resource = "all" | "mcp";

/** What a caller shows to say who they are. */
export type Credentials =
  | { readonly kind: "socket" }
  | { readonly kind: "open" }
  /** The `Authorization` header as it came, undefined when there was none. */
  | { readonly kind: "header"; readonly authorization: string | undefined }
  /** A page's: every cookie of the session's name, and the key of the origin's storage, undefined when it was not sent. */
  | { readonly kind: "browser"; readonly cookies: readonly string[]; readonly key: string | undefined };

/** Codes that accounts throw. */
export type AccountsErrorCode =
  | "unauthenticated"
  | "insufficient_scope"
  | "invalid_request"
  | "dir_not_found"
  | "token_not_found"
  | "browser_session_not_found"
  | "account_not_found"
  | "account_exists"
  | "passkey_not_found";

/** Names a caller, the same for every access token that it is given in turn: to count what is theirs. */
export function callerOf({ accountId, kind, app, tokenId, browserSessionId }: Principal): string {
  // An issuer's tokens are known by their hashes, and each is another.
  const credential = app?.appId ?? (kind === "jwt" ? null : (tokenId ?? browserSessionId));
  return [accountId, kind, credential ?? ""].join(" ");
}

/** @throws PosternError `insufficient_scope` when the caller does not hold `scope` */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope)) return;
  throw new PosternError("insufficient_scope", `This needs the scope ${scope}, which the caller does not hold.`, {
    details: { scope },
  });
}

/** A folder, and what the folder rule allowed in it. */
interface AllowedFolder {
  readonly dir: string;
  readonly scope: FolderScope;
}

/** Far more than what stays open works with; a call that goes through all sessions does not stay open. */
const maxFolders = 1_000;

/** The folders that the folder rule allowed a caller in one request or socket, which ends when one of them is taken away. */
export class AllowedFolders {
  readonly #folders = new Map<string, AllowedFolder>();
  readonly #included = new Set<AllowedFolders>();

  note(folder: AllowedFolder): void {
    if (this.#folders.size < maxFolders) this.#folders.set(`${folder.scope} ${folder.dir}`, folder);
  }

  /** Those of another request too, now and later: its answer is given to this one. */
  include(others: AllowedFolders): void {
    if (others !== this) this.#included.add(others);
  }

  list(): readonly AllowedFolder[] {
    return [...this.#folders.values(), ...[...this.#included].flatMap((others) => others.list())];
  }
}
