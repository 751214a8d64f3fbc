import { PosternError } from "../core/errors.ts";
import type { FolderScope, Scope } from "../wire/access.ts";

/** The caller, and what it can do. */
export interface Principal {
  readonly accountId: string;
  /**
   * `socket`: over the owner's Unix socket. `token`: with a personal token. `browser`: a page in a signed-in browser. `app`: with an
   * access token of the authorization server. `jwt`: with a token of a trusted issuer. `open`: anyone, with `POSTERN_AUTH=none`.
   */
  readonly kind: "socket" | "token" | "browser" | "app" | "jwt" | "open";
  /** The scopes that the credential was given and its account still holds. */
  readonly scopes: ReadonlySet<Scope>;
  /** Real paths of the folders that the caller is limited to; null means no limit. */
  readonly folders: readonly string[] | null;
  /** The id of a personal token; for a token of an app or issuer, an id to look it up again, which is not secret. */
  readonly tokenId: string | null;
  readonly browserSessionId: string | null;
  /** The app that the access token was issued to. */
  readonly app: AppIdentity | null;
  /** Where the credential is valid: `mcp` means only at `/mcp`, according to the token's audience (RFC 8707). */
  readonly resource: Resource;
  /** Milliseconds since the epoch; null when it does not expire. */
  readonly expiresAt: number | null;
  /** Records each folder that the folder rule allowed, for a request or socket that depends on them. */
  readonly allowed?: AllowedFolders;
}

/** An app, and the grant that authorized it. */
export interface AppIdentity {
  readonly clientId: string;
  readonly appId: string;
}

/** Where a token is valid. */
export type Resource = "all" | "mcp";

/** The credential that a caller presents. */
export type Credentials =
  | { readonly kind: "socket" }
  | { readonly kind: "open" }
  /** The `Authorization` header as received; undefined when there was none. */
  | { readonly kind: "header"; readonly authorization: string | undefined }
  /** Sent by a page: every cookie with the session's name, and the key from the origin's storage (undefined when it was not sent). */
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

/** Identifies a caller independently of its current access token, to count its resources. */
export function callerOf({ accountId, kind, app, tokenId, browserSessionId }: Principal): string {
  // Tokens of an issuer are identified by their hashes, which differ for each token.
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

/** A folder, and the scopes that the folder rule allowed in it. */
interface AllowedFolder {
  readonly dir: string;
  readonly scope: FolderScope;
}

/** Maximum folders to record: far more than an open connection needs. A call that reads all sessions does not stay open. */
const maxFolders = 1_000;

/** The folders that the folder rule allowed in one request or socket, which ends when one of them is removed. */
export class AllowedFolders {
  readonly #folders = new Map<string, AllowedFolder>();
  readonly #included = new Set<AllowedFolders>();

  note(folder: AllowedFolder): void {
    if (this.#folders.size < maxFolders) this.#folders.set(`${folder.scope} ${folder.dir}`, folder);
  }

  /** Adds another request's folders, including later ones, because this request receives the other's response. */
  include(others: AllowedFolders): void {
    if (others !== this) this.#included.add(others);
  }

  list(): readonly AllowedFolder[] {
    return [...this.#folders.values(), ...[...this.#included].flatMap((others) => others.list())];
  }
}
