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

/** A directory that the folder rule allows. */
export interface AllowedDir {
  /** Real path. */
  readonly dir: string;
  /** Whether the owner trusts its contents: it is registered with `coding`, or a request named it in permissive mode. */
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
