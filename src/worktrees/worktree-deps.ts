import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Git } from "../platform/git-command.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { WorktreeStore } from "./worktree-store.ts";

/** What the parts of this room share. */
export interface WorktreeDeps {
  readonly git: Git;
  readonly store: WorktreeStore;
  readonly clock: Clock;
  readonly log: Log;
  /** A new name in a folder of ours; swept at the start. */
  readonly scratchFolder: () => string;
  /** Told after each step, for tests that stop there. */
  readonly onStep: (step: WorktreeStep) => Promise<void>;
}

/** Between two of these a crash leaves something behind. */
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

/** A worktree that is asked for. */
export interface NewWorktree {
  readonly sessionId: string;
  /** A real path. */
  readonly dir: string;
  readonly baseBranch: string;
  readonly branch: string;
}

/** Every code that the worktrees' room throws. */
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

/** An error of this room; `details` go into the answer. */
export function worktreeError(
  code: WorktreeErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PosternError<WorktreeErrorCode> {
  return new PosternError(code, message, options);
}

/** Those of some paths in a repository, each from its root, whose folders the caller can see. */
export type VisibleFiles = <T extends string>(paths: readonly T[], shown: (path: T) => string) => Promise<readonly T[]>;

/** The rule for every list of files of a session. @param root as which the paths' root counts: for a worktree, its repository */
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

/** Whose files a caller can see. */
export function filesRule({ folders }: Caller): Parameters<VisibleAmong>[1] {
  return { scope: "files", within: folders };
}
