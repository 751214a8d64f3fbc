import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import type { Audience } from "../accounts/index.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { defaultAppScopes } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";
import type { Problem, ProblemCode } from "../wire/problem.ts";

/** The status of each code. A code without a status causes a compile error. */
export const problemStatuses = {
  invalid_request: 400,
  id_mismatch: 400,
  prompt_not_text: 400,
  command_not_sendable: 400,
  unauthenticated: 401,
  insufficient_scope: 403,
  dir_not_allowed: 403,
  origin_not_allowed: 403,
  route_not_found: 404,
  session_not_found: 404,
  log_not_found: 404,
  agent_unknown: 404,
  folder_not_found: 404,
  token_not_found: 404,
  browser_session_not_found: 404,
  account_not_found: 404,
  passkey_not_found: 404,
  app_not_found: 404,
  client_not_found: 404,
  webhook_not_found: 404,
  push_subscription_not_found: 404,
  permission_gone: 404,
  push_action_gone: 404,
  prompt_not_found: 404,
  rule_not_found: 404,
  comment_not_found: 404,
  comparison_not_found: 404,
  rescue_not_found: 404,
  recording_not_found: 404,
  share_not_found: 404,
  attachment_not_found: 404,
  image_not_found: 404,
  clone_not_found: 404,
  script_not_found: 404,
  pull_request_not_found: 404,
  account_exists: 409,
  session_busy: 409,
  session_mismatch: 409,
  branch_exists: 409,
  branch_checked_out: 409,
  worktree_exists: 409,
  worktree_conflict: 409,
  idempotency_conflict: 409,
  permission_pending: 409,
  composer_not_empty: 409,
  attachment_in_use: 409,
  prompt_already_sent: 409,
  comment_already_sent: 409,
  comment_text_changed: 409,
  turn_not_recorded: 409,
  nothing_to_send: 409,
  setup_failed: 409,
  setup_running: 409,
  proposal_changed: 409,
  clone_target_exists: 409,
  agent_working: 409,
  comparison_decided: 409,
  changes_outdated: 409,
  nothing_to_commit: 409,
  uncommitted_changes: 409,
  update_conflict: 409,
  update_in_progress: 409,
  no_update_in_progress: 409,
  push_rejected: 409,
  branch_not_pushed: 409,
  pull_request_exists: 409,
  pull_request_changed: 409,
  merge_rejected: 409,
  too_large: 413,
  attachment_too_large: 413,
  unsupported_media_type: 415,
  attachment_type_refused: 415,
  dir_not_found: 422,
  not_a_git_repository: 422,
  webhook_url_refused: 422,
  push_endpoint_refused: 422,
  rule_too_broad: 422,
  base_branch_not_found: 422,
  branch_not_found: 422,
  git_failed: 422,
  forge_not_available: 422,
  forge_failed: 422,
  agent_not_configured: 422,
  agent_binary_missing: 422,
  agent_version_unsupported: 422,
  model_not_supported: 422,
  too_many_sessions: 429,
  rate_limited: 429,
  internal_error: 500,
  store_unavailable: 503,
  agent_start_failed: 503,
  worktree_failed: 503,
  terminal_host_unavailable: 503,
  transcript_unreadable: 503,
  gateway_stopping: 503,
} satisfies Record<ProblemCode, number>;

/** Fastify's client errors. All others are a 500. */
const fastifyCodes: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_request",
  FST_ERR_BAD_URL: "invalid_request",
  FST_ERR_MAX_PARAM_LENGTH: "invalid_request",
};

/** 5xx codes whose message is shown to the caller. The messages of other 5xx codes are hidden. */
const speaking: ReadonlySet<ProblemCode> = new Set(["agent_start_failed", "worktree_failed", "gateway_stopping"]);

const silentDetails: Readonly<Partial<Record<ProblemCode, string>>> = {
  store_unavailable:
    "The gateway cannot access its data: the database is unavailable, or the disk is full or read-only. Run `postern doctor`, then retry.",
  terminal_host_unavailable: "The terminal host is not running. It is being restarted. Retry in a moment.",
  transcript_unreadable: "The session's transcript cannot be read right now. Retry in a moment.",
};

/** `Retry-After` of a 429, or while the gateway stops, if the error has no delay. */
const defaultRetryAfterMs = 1_000;
/** A database server recovers in seconds at best, a full disk in minutes. */
const storeRetryAfterMs = 5_000;

/** An error response. */
export interface ProblemResponse {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;
}

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemStatuses, code);
}

/**
 * Converts an error to its response.
 *
 * @param requestId shown if the error's message is not, so that the log line can be found
 * @param request for the challenge of a 401 or 403
 * @see RFC 9457
 */
export function toProblem(
  error: unknown,
  requestId: string,
  request: ChallengedRequest = { origin: null, audience: "api", showedToken: true },
): ProblemResponse {
  if (hasZodFastifySchemaValidationErrors(error)) return invalidBody(error.validation);
  const code = codeOf(error);
  const status = problemStatuses[code];
  const details = error instanceof PosternError ? error.details : {};
  const { retryAfterMs, error: bearerError, ...members } = details;
  const isShown = status < 500 || speaking.has(code);
  const detail = isShown && error instanceof Error ? error.message : (silentDetails[code] ?? inside(requestId));
  return {
    problem: { ...(isShown ? members : {}), ...problemHead(code), detail },
    headers: {
      ...(status === 401 ? { "www-authenticate": challenge(request, { error: bearerError }) } : {}),
      ...(code === "insufficient_scope"
        ? { "www-authenticate": challenge(request, { error: code, scope: details["scope"] }) }
        : {}),
      ...(status === 429 || code === "gateway_stopping" ? { "retry-after": seconds(retryAfterMs) } : {}),
      ...(code === "store_unavailable" ? { "retry-after": seconds(storeRetryAfterMs) } : {}),
    },
  };
}

function codeOf(error: unknown): ProblemCode {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return "internal_error";
  if (isErrno(error, "ENOSPC", "EDQUOT", "EROFS", "EIO")) return "store_unavailable"; // applies to any file in the state folder
  if (!(error instanceof PosternError)) return fastifyCodes[error.code] ?? "internal_error";
  return isProblemCode(error.code) ? error.code : "internal_error";
}

function problemHead(code: ProblemCode): Pick<Problem, "type" | "title" | "status" | "code"> {
  const words = code.replaceAll("_", " ");
  return {
    type: `/docs/problems#${code}`,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    status: problemStatuses[code],
    code,
  };
}

function inside(requestId: string): string {
  return `Unexpected error in the gateway. Search its log for request ${requestId}.`;
}

function invalidBody(
  issues: readonly {
    readonly instancePath: string;
    readonly message?: string | undefined;
    readonly params: Readonly<Record<string, unknown>>;
  }[],
): ProblemResponse {
  const errors = issues.flatMap(({ instancePath, message = "Invalid value", params }) => {
    const path = instancePath.split("/").filter((part) => part !== "");
    const unknownKeys = Array.isArray(params["keys"]) ? params["keys"] : [];
    if (unknownKeys.length === 0) return [{ path: path.join("."), message }];
    return unknownKeys.map((key) => ({ path: [...path, String(key)].join("."), message: "Unknown field" }));
  });
  const [first] = errors;
  const place = first === undefined || first.path === "" ? "" : `${first.path}: `;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const detail = `Invalid request. ${place}${first?.message ?? "Invalid value"}${more}`;
  return { problem: { ...problemHead("invalid_request"), detail, errors }, headers: {} };
}

function seconds(retryAfterMs: unknown): string {
  const ms = typeof retryAfterMs === "number" && retryAfterMs > 0 ? retryAfterMs : defaultRetryAfterMs;
  return String(Math.ceil(ms / 1_000));
}

/** The properties of a rejected request that its challenge depends on. */
export interface ChallengedRequest {
  /** The gateway's origin; null on the owner's socket. */
  readonly origin: string | null;
  readonly audience: Audience;
  /** If false, the challenge contains no `error`. */
  readonly showedToken: boolean;
}

/**
 * The value of `WWW-Authenticate`, with which a client discovers the resource metadata and the authorization server.
 *
 * @param refusal `error` of RFC 6750; `scope` is the required scope. At `/mcp`, the challenge for an unauthenticated client lists the default scopes.
 * @see RFC 6750 section 3, RFC 9728 section 5.1
 */
export function challenge(
  { origin, audience, showedToken }: ChallengedRequest,
  refusal: { readonly error?: unknown; readonly scope?: unknown },
): string {
  const { error, scope = audience === "mcp" ? defaultAppScopes.join(" ") : undefined } = refusal;
  const parts = ['Bearer realm="postern"'];
  if (typeof error === "string" && showedToken) parts.push(`error="${error}"`);
  if (typeof scope === "string") parts.push(`scope="${scope}"`);
  if (origin !== null) parts.push(`resource_metadata="${metadataUrl(origin, audience)}"`);
  return parts.join(", ");
}

/** @see RFC 9728 section 3.1: the resource's path is appended to the well-known path */
function metadataUrl(origin: string, audience: Audience): string {
  return `${origin}${oauthPaths.protectedResource}${audience === "mcp" ? oauthPaths.mcp : ""}`;
}
