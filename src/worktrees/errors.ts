import { PosternError } from "../core/errors.ts";

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
