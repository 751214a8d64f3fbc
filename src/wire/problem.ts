import { z } from "zod";

/** Every `code` that an answer of Postern can carry. Closed: it is part of the OpenAPI document. */
export const problemCodes = [
  "invalid_request",
  "id_mismatch",
  "prompt_not_text",
  "unauthenticated",
  "insufficient_scope",
  "dir_not_allowed",
  "origin_not_allowed",
  "route_not_found",
  "session_not_found",
  "log_not_found",
  "agent_unknown",
  "folder_not_found",
  "token_not_found",
  "browser_session_not_found",
  "account_not_found",
  "passkey_not_found",
  "app_not_found",
  "client_not_found",
  "webhook_not_found",
  "permission_gone",
  "rescue_not_found",
  "recording_not_found",
  "account_exists",
  "session_busy",
  "session_mismatch",
  "branch_exists",
  "branch_checked_out",
  "worktree_exists",
  "worktree_conflict",
  "idempotency_conflict",
  "permission_pending",
  "composer_not_empty",
  "too_large",
  "unsupported_media_type",
  "dir_not_found",
  "not_a_git_repository",
  "base_branch_not_found",
  "branch_not_found",
  "agent_not_configured",
  "agent_binary_missing",
  "model_not_supported",
  "too_many_sessions",
  "rate_limited",
  "internal_error",
  "store_unavailable",
  "agent_start_failed",
  "worktree_failed",
  "terminal_host_unavailable",
  "transcript_unreadable",
  "gateway_stopping",
] as const;

/** A code of {@link problemCodes}. */
export type ProblemCode = (typeof problemCodes)[number];

/**
 * The body of every error answer, `application/problem+json`.
 *
 * @see RFC 9457 section 3; `code` and `errors` are our extension members.
 */
export const problemSchema = z
  .looseObject({
    type: z.string().describe("A page that explains the code."),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe("What went wrong, with which thing, and what to do."),
    code: z.enum(problemCodes),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: "Problem" });

/** @see problemSchema */
export type Problem = z.infer<typeof problemSchema>;
