import { PosternError } from "../core/errors.ts";

/** Every code that sessions and their terminals throw. */
export type SessionErrorCode =
  | "invalid_request"
  | "prompt_not_text"
  | "command_not_sendable"
  | "insufficient_scope"
  | "dir_not_allowed"
  | "session_not_found"
  | "session_busy"
  | "session_mismatch"
  | "idempotency_conflict"
  | "permission_pending"
  | "composer_not_empty"
  | "permission_gone"
  | "prompt_not_found"
  | "prompt_already_sent"
  | "agent_unknown"
  | "model_not_supported"
  | "image_not_found"
  | "turn_not_recorded"
  | "rescue_not_found"
  | "recording_not_found"
  | "too_many_sessions"
  | "setup_failed"
  | "setup_running"
  | "script_not_found"
  | "agent_start_failed";

/** An error of sessions; `details` are added to the response. */
export function sessionError(
  code: SessionErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PosternError<SessionErrorCode> {
  return new PosternError(code, message, options);
}
