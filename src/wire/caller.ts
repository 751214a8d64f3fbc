import type { FolderScope, Scope } from "./access.ts";

/** Who calls a coding tool: as much of the caller as coding needs to know. */
export interface Caller {
  readonly accountId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Folders (real paths) that the caller's token is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
  /** Notes each folder that the folder rule allows the caller: what the caller holds open ends when one of them is taken away. */
  readonly allowed?: { note(folder: { readonly dir: string; readonly scope: FolderScope }): void };
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

/** Those of many directories (which may be gone) whose sessions may be seen by the folder rule. */
export type VisibleAmong = (
  dirs: readonly string[],
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<ReadonlySet<string>>;

/** Whether sessions of this directory (which may be gone) may be seen by the folder rule. */
export type IsVisibleDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;
