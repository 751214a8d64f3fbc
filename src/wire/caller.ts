import type { FolderScope, Scope } from "./access.ts";

/** The caller of a coding tool. */
export interface Caller {
  readonly accountId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Folders (real paths) that the caller's token is limited to; null means no limit. */
  readonly folders: readonly string[] | null;
  /** The kind of its credential, and its token or app, which can own what the caller creates. */
  readonly kind?: "socket" | "token" | "browser" | "app" | "jwt" | "open";
  readonly tokenId?: string | null;
  readonly app?: { readonly appId: string } | null;
  /** Records each folder that the request uses: its connections close when access to one of them is revoked. */
  readonly allowed?: { note(folder: { readonly dir: string; readonly scope: FolderScope }): void };
}

/** A caller's account and credential, as the owner of what it creates. A person's browsers and command line count as one owner. */
export function callerKey({ accountId, kind, tokenId, app }: Pick<Caller, "accountId" | "kind" | "tokenId" | "app">) {
  const credential =
    kind === "token" ? `token:${tokenId}` : kind === "app" ? `app:${app?.appId}` : kind === "jwt" ? "jwt" : personal;
  return `${accountId} ${credential}`;
}

const personal = "account";

/** Whether what was created under a key is the caller's: a person also owns what the tokens and apps of the account create. */
export function ownsKey(caller: Parameters<typeof callerKey>[0], key: string | null): boolean {
  const own = callerKey(caller);
  if (key === null) return false;
  return key === own || (own === `${caller.accountId} ${personal}` && key.startsWith(`${caller.accountId} `));
}

/** A directory that the folder rule allows. */
export interface AllowedDir {
  /** Real path. */
  readonly dir: string;
  /** Whether the owner trusts its contents: it is registered with `coding` or, in permissive mode, a request specified it. */
  readonly trusted: boolean;
}

/**
 * Resolves a directory by the specification's folder scope rule.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request`
 */
export type ResolveAllowedDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<AllowedDir>;

/** The directories, existing or not, whose sessions the folder rule makes visible. */
export type VisibleAmong = (
  dirs: readonly string[],
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<ReadonlySet<string>>;

/** Whether the folder rule makes sessions of this directory visible. The directory may no longer exist. */
export type IsVisibleDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;
