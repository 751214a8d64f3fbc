import { PosternError } from "../core/errors.ts";

/** The error codes of `src/agents`. */
export type AgentErrorCode =
  | "invalid_request"
  | "agent_unknown"
  | "agent_not_configured"
  | "agent_binary_missing"
  | "agent_version_unsupported"
  | "model_not_supported"
  | "agent_start_failed";

/** `details` are part of the response. */
export function agentError(
  code: AgentErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PosternError<AgentErrorCode> {
  return new PosternError(code, message, options);
}
