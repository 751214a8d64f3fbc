import { stat } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import { hasCode, isErrno } from "../core/errors.ts";
import { codingError } from "./errors.ts";
import type { IsVisibleDir, ResolveAllowedDir } from "./ports.ts";
import type { Worktrees } from "./worktrees/index.ts";

/** The folder rule. */
export interface FolderRule {
  readonly resolveAllowedDir: ResolveAllowedDir;
  readonly isVisibleDir: IsVisibleDir;
}

/** The folder rule in which a gateway-made worktree counts as its repository, also when it is gone and could be made anew. */
export function countWorktrees(worktrees: Worktrees, rule: FolderRule): FolderRule {
  const { resolveAllowedDir, isVisibleDir } = rule;
  return {
    async resolveAllowedDir(given, wanted) {
      if (!isAbsolute(given) || given.includes("\0")) return resolveAllowedDir(given, wanted);
      const { dir, counted, place } = await worktrees.countedAs(given);
      if (place === "elsewhere" || place === "replaced") return resolveAllowedDir(given, wanted);
      if (!(await isVisibleDir(counted, wanted))) {
        throw codingError("dir_not_allowed", `${given} belongs to a repository that the caller may not use.`);
      }
      if (place === "standing" && !(await isDirectory(dir))) {
        throw codingError("dir_not_found", `There is no directory ${given}, or it cannot be entered.`);
      }
      return { dir, trusted: await isTrusted(counted, wanted) };
    },

    async isVisibleDir(dir, wanted) {
      return isVisibleDir(isAbsolute(dir) ? (await worktrees.countedAs(dir)).counted : dir, wanted);
    },
  };

  /** As the repository's own folder is, or the nearest above it that the main checkout has. */
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
