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

/** What a code means to whoever gets it. */
export interface ProblemHelp {
  /** One sentence. */
  readonly meaning: string;
  /** One sentence, for a program's author or the person in front of it. */
  readonly remedy: string;
}

const listIt = (what: string, where: string): ProblemHelp => ({
  meaning: `There is no ${what} of this id, or it is none of yours.`,
  remedy: `List them again: ${where}.`,
});

/** Each code of the closed list in words: for `/docs/problems` and `docs/reference/errors.md`. */
export const problemHelp = {
  invalid_request: {
    meaning: "Body, query or path does not fit; nothing was done.",
    remedy: "`errors` names each field and what is wrong with it. Mend the request; the same again fails again.",
  },
  id_mismatch: {
    meaning: "The body of a deletion names something else than its path; nothing was deleted.",
    remedy: "Name the same id in both.",
  },
  prompt_not_text: {
    meaning: "The agent would take the prompt for a command (a first `/` or `!`), or it holds control characters.",
    remedy: "Put a word before it, or send `allowCommands` when a command is what you want.",
  },
  unauthenticated: {
    meaning: "There is no token, or it is unknown, expired or revoked.",
    remedy:
      "Send `Authorization: Bearer …` with a token of `postern token create`; an app refreshes its own, or lets its owner sign in again.",
  },
  insufficient_scope: {
    meaning: "The token, or the account behind it, does not hold the scope that this needs.",
    remedy: "`WWW-Authenticate` names the scope. Make a token with it, or let the app in again with more.",
  },
  dir_not_allowed: {
    meaning:
      "The directory is in no registered folder with the scope that is needed, or not in a folder of this token.",
    remedy: "Choose another directory, or register its folder: `postern folder add <path> --scopes files,coding`.",
  },
  origin_not_allowed: {
    meaning: "The request comes from a page of another origin, or is for a host name that is not this gateway's.",
    remedy:
      "Call from the gateway's own pages, or from a program with a token. A proxy passes `Host` on; start the gateway with its address as `--base-url`.",
  },
  route_not_found: {
    meaning: "There is no such path, or it does not take this method.",
    remedy: "`/openapi.json` lists all; the header `Allow` names the methods of a path that is there.",
  },
  session_not_found: {
    meaning: "No session has this id, or it is in a folder that you do not see.",
    remedy: "List sessions with `coding_list_sessions`. A gateway that was restored may not know newer ones.",
  },
  log_not_found: listIt("log entry", "`GET /api/v1/logs`"),
  agent_unknown: {
    meaning: "There is no agent of this name or alias.",
    remedy: "The message names those that there are; `coding_list_agents` tells more.",
  },
  folder_not_found: listIt("registered folder", "`GET /api/folders`, or `postern folder list`"),
  token_not_found: listIt("token", "`GET /api/tokens`, or `postern token list`"),
  browser_session_not_found: listIt("signed-in browser", "`GET /api/browser-sessions`, or `postern browser list`"),
  account_not_found: listIt("account", "`GET /api/accounts`, or `postern account list`"),
  passkey_not_found: listIt("passkey", "`GET /api/passkeys`"),
  app_not_found: listIt("app", "`GET /api/oauth/apps`"),
  client_not_found: listIt("client", "`GET /api/oauth/clients`, or `postern client list`"),
  webhook_not_found: listIt("webhook", "`GET /api/webhooks`, or `postern webhook list`"),
  permission_gone: {
    meaning: "What the agent asked was answered, by you, by somebody else or in its terminal, or it waits no longer.",
    remedy: "Read the session again; `permissions` has what still waits.",
  },
  rescue_not_found: {
    meaning: "Nothing was rescued from a worktree of this session, or it was dropped.",
    remedy: "List rescues: `postern rescue list`.",
  },
  recording_not_found: {
    meaning: "Nothing is recorded of this session, or newer recordings needed the room.",
    remedy: "Read its turns instead: `coding_read_session`.",
  },
  account_exists: { meaning: "An account has this name already.", remedy: "Choose another name." },
  session_busy: {
    meaning:
      "The session runs in a program outside of this gateway, has as many prompts waiting as it may, or runs while it has to be closed for this.",
    remedy: "The message says which: end it there, wait for its turns, or close it, then ask again.",
  },
  session_mismatch: {
    meaning: "The session is another agent's, or in another directory or worktree, than the request says.",
    remedy: "Name what the session has, which the message tells, or start a new session.",
  },
  branch_exists: { meaning: "The branch for a new worktree is there already.", remedy: "Name another `branch`." },
  branch_checked_out: {
    meaning: "Another checkout has this branch.",
    remedy: "Name another branch, or switch that checkout to another one.",
  },
  worktree_exists: {
    meaning: "Something stands where the worktree would be made.",
    remedy: "Name another `branch`, or move away what is there.",
  },
  worktree_conflict: {
    meaning: "Files were changed since, which a restore would overwrite; nothing was restored.",
    remedy: "Keep them elsewhere first, or restore with `force`.",
  },
  idempotency_conflict: {
    meaning: "The same idempotency key came with another request before.",
    remedy: "Use a new key for each request, and the same one only to repeat it.",
  },
  permission_pending: {
    meaning: "The agent waits for an answer; a prompt would be taken for one.",
    remedy: "Answer first: `coding_answer_permission`, or `coding_interrupt` to deny it and end the turn.",
  },
  composer_not_empty: {
    meaning: "The agent's composer holds text that was typed in its terminal; it would be sent with the prompt.",
    remedy: 'Set `onDraft` to `"clear"` to remove that text, or to `"append"` to send it with the prompt.',
  },
  too_large: {
    meaning: "Body, prompt, file or answer is larger than its limit.",
    remedy: "Send less, or raise `bodyLimitBytes` in the settings where the body is meant.",
  },
  unsupported_media_type: {
    meaning: "The body is of another type than this route takes.",
    remedy: "Send `Content-Type: application/json`; routes of OAuth take `application/x-www-form-urlencoded`.",
  },
  dir_not_found: {
    meaning: "There is no such directory, or the gateway's user cannot enter it.",
    remedy: "Name an absolute path of a directory on the gateway's machine.",
  },
  not_a_git_repository: {
    meaning: "A worktree was asked for, and the directory is in no git repository.",
    remedy: "Leave `worktree` out, or run `git init` and make a first commit.",
  },
  base_branch_not_found: {
    meaning: "The repository has no such branch, tag or commit to begin from.",
    remedy: "Name a `baseBranch` that `git rev-parse` knows; fetch it first.",
  },
  branch_not_found: {
    meaning: "The branch of the session's worktree is gone, so that it cannot be made again.",
    remedy: "Make the branch again (`git branch <name> <commit>`), or start a new session.",
  },
  agent_not_configured: {
    meaning: "No agent is set up, or several are and none is the default.",
    remedy: "Run `postern coding setup`, or name `agent` in the request.",
  },
  agent_binary_missing: {
    meaning: "The agent's program is not where it was, or not on the gateway's PATH.",
    remedy: "Install it, or run `postern coding setup --agent <name> --binary <path>`.",
  },
  model_not_supported: {
    meaning: "The agent takes no such model or system prompt, or not while its session runs.",
    remedy: "Leave it out, or start a new session.",
  },
  too_many_sessions: {
    meaning: "As many sessions live as the settings allow.",
    remedy: "Close one, or raise `maxSessions`. `Retry-After` says when to try again.",
  },
  rate_limited: {
    meaning: "Too many such requests came, or too many are under way.",
    remedy: "Wait as long as `Retry-After` says.",
  },
  internal_error: {
    meaning: "Something failed inside the gateway; the answer says nothing about it.",
    remedy: "Look into the gateway's log for the request that the message names, and run `postern doctor`.",
  },
  store_unavailable: {
    meaning: "The store (SQLite or PostgreSQL) does not answer, or the disk is full or read-only.",
    remedy:
      "Try again after `Retry-After`. If it stays so, check the database server and the free disk space; `postern doctor` and the gateway's log have the reason.",
  },
  agent_start_failed: {
    meaning: "The agent ended, or was not ready in time, when it was started; `lastScreen` shows what it said.",
    remedy: "Mend what it says (a log-in, mostly), try `postern doctor --smoke`, then ask again.",
  },
  worktree_failed: {
    meaning: "git could not do its part; nothing was half done.",
    remedy: "The message has git's words. Mend it in the repository, then ask again.",
  },
  terminal_host_unavailable: {
    meaning: "The process that keeps the terminals does not answer; it is started again.",
    remedy: "Try again in a moment; `postern doctor` says more when it stays so.",
  },
  transcript_unreadable: {
    meaning: "The session's transcript cannot be read at the moment.",
    remedy: "Try again; the gateway's log has the reason.",
  },
  gateway_stopping: {
    meaning: "The gateway is about to end. Agents live on.",
    remedy: "Try again when it is back: what was asked with the same `idempotencyKey` is not done twice.",
  },
} satisfies Record<ProblemCode, ProblemHelp>;
