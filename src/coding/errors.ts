import { PosternError } from "../core/errors.ts";

/** Every code that the coding capability throws. */
export type CodingErrorCode =
  | "invalid_request"
  | "prompt_not_text"
  | "insufficient_scope"
  | "dir_not_allowed"
  | "dir_not_found"
  | "session_not_found"
  | "session_busy"
  | "session_mismatch"
  | "idempotency_conflict"
  | "permission_pending"
  | "composer_not_empty"
  | "permission_gone"
  | "agent_unknown"
  | "agent_not_configured"
  | "agent_binary_missing"
  | "model_not_supported"
  | "too_large"
  | "not_a_git_repository"
  | "base_branch_not_found"
  | "branch_exists"
  | "branch_checked_out"
  | "branch_not_found"
  | "worktree_exists"
  | "worktree_conflict"
  | "worktree_failed"
  | "rescue_not_found"
  | "recording_not_found"
  | "too_many_sessions"
  | "agent_start_failed";

/** An error of the coding capability; `details` go into the answer. */
export function codingError(
  code: CodingErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PosternError<CodingErrorCode> {
  return new PosternError(code, message, options);
}
