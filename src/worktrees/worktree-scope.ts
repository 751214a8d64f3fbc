import { stat } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import { hasCode, isErrno } from "../core/errors.ts";
import { findRepository } from "../platform/git-repository.ts";
import type { FolderScope } from "../wire/access.ts";
import type { AllowedDir, Caller, IsVisibleDir, ResolveAllowedDir } from "../wire/caller.ts";
import { worktreeError } from "./worktree-deps.ts";
import type { Worktrees } from "./worktrees.ts";

/** A question to the folder rule: the required scope and the caller. */
export interface FolderWish {
  readonly scope: FolderScope;
  readonly caller: Pick<Caller, "folders" | "allowed">;
}

/** The folder rule for a caller; it records what it allows. */
export interface FolderRule {
  /** @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request` */
  resolveAllowedDir(dir: string, wish: FolderWish): Promise<AllowedDir>;
  /** Whether sessions of this directory (which may be gone) are visible. */
  isVisibleDir(dir: string, wish: FolderWish): Promise<boolean>;
}

/** The folder rule in which a gateway-made worktree counts as its repository, even if it is gone but can be recreated. */
export function countWorktrees(
  worktrees: Worktrees,
  rule: { readonly resolveAllowedDir: ResolveAllowedDir; readonly isVisibleDir: IsVisibleDir },
): FolderRule {
  const { resolveAllowedDir, isVisibleDir } = rule;

  async function resolve(given: string, wanted: Parameters<ResolveAllowedDir>[1]): Promise<AllowedDir> {
    if (!isAbsolute(given) || given.includes("\0")) return resolveAllowedDir(given, wanted);
    const { dir, counted, place } = await worktrees.countedAs(given);
    if (place === "elsewhere" || place === "replaced") return resolveAllowedDir(given, wanted);
    if (!(await isVisibleDir(counted, wanted))) {
      throw worktreeError("dir_not_allowed", `${given} belongs to a repository that the caller cannot use.`);
    }
    if (place === "standing" && !(await isDirectory(dir))) {
      throw worktreeError("dir_not_found", `Directory not found, or not accessible: ${given}.`);
    }
    return { dir, trusted: await isTrusted(counted, wanted) };
  }

  return {
    async resolveAllowedDir(given, { scope, caller }) {
      const allowed = await resolve(given, { scope, within: caller.folders });
      caller.allowed?.note({ dir: allowed.dir, scope });
      return allowed;
    },

    async isVisibleDir(dir, { scope, caller }) {
      const counted = isAbsolute(dir) ? (await worktrees.countedAs(dir)).counted : dir;
      const visible = await isVisibleDir(counted, { scope, within: caller.folders });
      if (visible) caller.allowed?.note({ dir, scope });
      return visible;
    },
  };

  /** Whether the owner trusts the directory in the main checkout or, if it is missing there, its nearest existing parent. */
  async function isTrusted(counted: string, wanted: Parameters<ResolveAllowedDir>[1]): Promise<boolean> {
    for (let dir = counted; ; dir = dirname(dir)) {
      try {
        return (await resolveAllowedDir(dir, wanted)).trusted;
      } catch (error) {
        if (hasCode(error, "dir_not_allowed") || dir === dirname(dir)) return false;
        if (!hasCode(error, "dir_not_found")) throw error;
      }
    }
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return false;
    throw error;
  }
}

/** A session's location, for display. */
export interface SessionPlace {
  /** Its directory. In a gateway-made worktree, even a removed one, the matching directory in the repository. */
  readonly dir: string;
  /** The repository's main checkout; null if it is in no existing repository. */
  readonly repository: string | null;
  /** The root of its gateway-made worktree; null if it is in none. */
  readonly worktree: string | null;
}

/** @param dir a session's directory, a real path that may no longer exist */
export async function sessionPlaceOf(worktrees: Pick<Worktrees, "countedAs">, dir: string): Promise<SessionPlace> {
  const { dir: real, counted, place } = await worktrees.countedAs(dir);
  const repository = (await findRepository(counted))?.root ?? null;
  if (repository === null || place === "elsewhere") return { dir: counted, repository, worktree: null };
  // Both end with the same folders below their roots.
  const worktree = real.slice(0, real.length - (counted.length - repository.length));
  return { dir: counted, repository, worktree };
}
