import type { FolderScope, Scope } from "../wire/access.ts";

/** Who calls a coding tool: as much of the caller as coding needs to know. */
export interface Caller {
  readonly accountId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Folders (real paths) that the caller's token is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
}

/** A directory that the folder rule lets through. */
export interface AllowedDir {
  /** Its real path. */
  readonly dir: string;
  /** Whether the owner trusts what lies in it: registered with `coding`, or named in permissive mode. */
  readonly trusted: boolean;
}

/**
 * Resolves a directory by the seed's folder scope rule.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request`
 */
export type ResolveAllowedDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<AllowedDir>;

/** Whether sessions of this directory (which may be gone) may be seen by the folder rule. */
export type IsVisibleDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;
