import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Git } from "../platform/git-command.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { WorktreeStore } from "./worktree-store.ts";

/** Dependencies that the modules of this folder share. */
export interface WorktreeDeps {
  readonly git: Git;
  readonly store: WorktreeStore;
  readonly clock: Clock;
  readonly log: Log;
  /** The template for the directory names of a repository's worktrees. */
  readonly worktreeNameFor: (repository: string) => Promise<string>;
  /** A new name in a scratch folder, which is cleared at startup. */
  readonly scratchFolder: () => string;
  /** Called after each step, for tests that stop there. */
  readonly onStep: (step: WorktreeStep) => Promise<void>;
}

/** Steps between which a crash leaves something behind. */
export type WorktreeStep =
  | "intent"
  | "branch"
  | "folder"
  | "registered"
  | "checked out"
  | "included"
  | "closing"
  | "rescued"
  | "removing"
  | "folder removed"
  | "entry removed";

/** A request for a worktree. */
export interface NewWorktree {
  readonly sessionId: string;
  /** A real path. */
  readonly dir: string;
  /** Null for the repository's default branch. */
  readonly baseBranch: string | null;
  /** The commit of `baseBranch`, if the caller has resolved it: the branch may have moved since. */
  readonly baseCommit?: string;
  /** The new branch; null for a name from the prompt. */
  readonly branch: string | null;
  /** The first prompt, if there is one. */
  readonly prompt?: string;
  /** The prefix of a branch name that is derived from the prompt; null for the default. */
  readonly branchPrefix?: string | null;
}

/** Codes that worktrees throw. */
export type WorktreeErrorCode =
  | "invalid_request"
  | "dir_not_allowed"
  | "dir_not_found"
  | "session_busy"
  | "too_large"
  | "not_a_git_repository"
  | "base_branch_not_found"
  | "branch_exists"
  | "branch_checked_out"
  | "branch_not_found"
  | "worktree_exists"
  | "worktree_conflict"
  | "worktree_failed"
  | "rescue_not_found";

/** A worktree error; `details` are part of the response. */
export function worktreeError(
  code: WorktreeErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PosternError<WorktreeErrorCode> {
  return new PosternError(code, message, options);
}

/** Filters paths, relative to a repository's root, to those whose folders the caller can see. */
export type VisibleFiles = <T extends string>(paths: readonly T[], shown: (path: T) => string) => Promise<readonly T[]>;

/** The rule for every list of a session's files. @param root what the paths' root counts as: for a worktree, its repository */
export function visibleFiles(
  root: string,
  visibleAmong: (dirs: readonly string[]) => Promise<ReadonlySet<string>>,
): VisibleFiles {
  return async (paths, shown) => {
    const dirs = paths.map((path) => join(root, shown(path), ".."));
    const visible = await visibleAmong([...new Set(dirs)]);
    return paths.filter((_, index) => visible.has(dirs[index] ?? ""));
  };
}

/** The folder rule for files that a caller can see. */
export function filesRule({ folders }: Caller): Parameters<VisibleAmong>[1] {
  return { scope: "files", within: folders };
}
