import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Git } from "../platform/git-command.ts";
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
