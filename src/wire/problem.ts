import { z } from "zod";

/** Every `code` of an error response. This list is closed and part of the OpenAPI document. */
export const problemCodes = [
  "invalid_request",
  "id_mismatch",
  "prompt_not_text",
  "command_not_sendable",
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
  "push_subscription_not_found",
  "permission_gone",
  "push_action_gone",
  "prompt_not_found",
  "rule_not_found",
  "comment_not_found",
  "comparison_not_found",
  "rescue_not_found",
  "recording_not_found",
  "share_not_found",
  "attachment_not_found",
  "image_not_found",
  "clone_not_found",
  "script_not_found",
  "pull_request_not_found",
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
  "attachment_in_use",
  "prompt_already_sent",
  "comment_already_sent",
  "comment_text_changed",
  "turn_not_recorded",
  "nothing_to_send",
  "setup_failed",
  "setup_running",
  "proposal_changed",
  "clone_target_exists",
  "agent_working",
  "comparison_decided",
  "changes_outdated",
  "nothing_to_commit",
  "uncommitted_changes",
  "update_conflict",
  "update_in_progress",
  "no_update_in_progress",
  "push_rejected",
  "branch_not_pushed",
  "pull_request_exists",
  "pull_request_changed",
  "merge_rejected",
  "too_large",
  "attachment_too_large",
  "unsupported_media_type",
  "attachment_type_refused",
  "dir_not_found",
  "not_a_git_repository",
  "base_branch_not_found",
  "branch_not_found",
  "git_failed",
  "forge_not_available",
  "forge_failed",
  "agent_not_configured",
  "webhook_url_refused",
  "push_endpoint_refused",
  "rule_too_broad",
  "agent_binary_missing",
  "agent_version_unsupported",
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
 * The body of every error response, `application/problem+json`.
 *
 * @see RFC 9457 section 3; `code` and `errors` are our extension members.
 */
export const problemSchema = z
  .looseObject({
    type: z.string().describe("Link to an explanation of the code."),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe("What happened, to what, and what to do next."),
    code: z.enum(problemCodes),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: "Problem" });

export type Problem = z.infer<typeof problemSchema>;

/** Explains an error code. */
export interface ProblemHelp {
  /** One sentence. */
  readonly meaning: string;
  /** One or two sentences on how to fix it. */
  readonly remedy: string;
}

const listIt = (what: string, where: string): ProblemHelp => ({
  meaning: `No ${what} has this id, or you don't have access to it.`,
  remedy: `List the existing ones: ${where}.`,
});

/** The text of `/docs/problems` and `docs/reference/errors.md`. */
export const problemHelp = {
  invalid_request: {
    meaning: "The body, query or path is invalid. Nothing was changed.",
    remedy: "Fix the fields listed in `errors`. Retrying the same request fails again.",
  },
  id_mismatch: {
    meaning: "The ids in the body and the path of a deletion differ. Nothing was deleted.",
    remedy: "Send the same id in both.",
  },
  prompt_not_text: {
    meaning: "The prompt starts with `/` or `!`, which the agent treats as a command, or contains control characters.",
    remedy: "Start the prompt with a word, or set `allowCommands` to run a command.",
  },
  command_not_sendable: {
    meaning:
      "With `kind: command`, the prompt is not a command that Postern can send to the agent, or its arguments could have another effect.",
    remedy:
      "List the commands with `GET /api/coding/completions?kind=command` (those of kind `command`), or type the command into the terminal.",
  },
  unauthenticated: {
    meaning: "The token is missing, unknown, expired or revoked.",
    remedy:
      "Create a token with `postern token create` and send it as `Authorization: Bearer …`. Apps refresh their token, or ask the user to authorize them again.",
  },
  insufficient_scope: {
    meaning: "The token or its account does not have the required scope.",
    remedy: "Create a token with the scope named in `WWW-Authenticate`, or authorize the app again with it.",
  },
  dir_not_allowed: {
    meaning: "The directory is not in a registered folder with the required scope, or not in a folder of this token.",
    remedy: "Use another directory, or run `postern folder add <path> --scopes files,coding`.",
  },
  origin_not_allowed: {
    meaning: "The request comes from a page of another origin, or its host name is not this gateway's.",
    remedy:
      "Call from the gateway's own pages, or from a program with a token. Behind a proxy, forward `Host` and start the gateway with `--base-url`.",
  },
  route_not_found: {
    meaning: "The path does not exist or does not support this method.",
    remedy: "See `/openapi.json` for all routes. For an existing path, the header `Allow` lists its methods.",
  },
  session_not_found: {
    meaning: "No session has this id, or you don't have access to its folder.",
    remedy: "List sessions with `coding_list_sessions`. After a restore from a backup, newer sessions can be missing.",
  },
  log_not_found: listIt("memory entry", "`GET /api/v1/logs`"),
  agent_unknown: {
    meaning: "No agent has this name or alias.",
    remedy: "Use one of the agents listed in the message, or call `coding_list_agents`.",
  },
  folder_not_found: listIt("registered folder", "`GET /api/folders`, or `postern folder list`"),
  token_not_found: listIt("token", "`GET /api/tokens`, or `postern token list`"),
  browser_session_not_found: listIt("signed-in browser", "`GET /api/browser-sessions`, or `postern browser list`"),
  account_not_found: listIt("account", "`GET /api/accounts`, or `postern account list`"),
  passkey_not_found: listIt("passkey", "`GET /api/passkeys`"),
  app_not_found: listIt("app", "`GET /api/oauth/apps`"),
  client_not_found: listIt("client", "`GET /api/oauth/clients`, or `postern client list`"),
  push_subscription_not_found: listIt("browser with notifications", "`GET /api/push/subscriptions`"),
  webhook_not_found: listIt("webhook", "`GET /api/webhooks`, or `postern webhook list`"),
  permission_gone: {
    meaning:
      "The request was already answered, by you, another user or in the terminal, or the agent no longer waits for it.",
    remedy: "Read the session again. `permissions` lists the open requests.",
  },
  push_action_gone: {
    meaning: "The notification's action was already used or has expired, or its browser is signed out.",
    remedy: "Open the session and answer there.",
  },
  prompt_not_found: listIt("queued prompt", "`GET /api/coding/sessions/{sessionId}/prompts`"),
  rule_not_found: listIt("standing rule", "`GET /api/permission-rules`, or `postern rules list`"),
  comment_not_found: listIt("review comment", "`GET /api/coding/sessions/{sessionId}/comments`"),
  comparison_not_found: listIt("comparison", "`GET /api/coding/comparisons`, or `postern coding compare list`"),
  rescue_not_found: {
    meaning: "This session has no rescue, or it was dropped.",
    remedy: "List rescues: `postern rescue list`.",
  },
  share_not_found: {
    meaning: "This link does not exist, has expired, or was revoked.",
    remedy: "Ask its creator for a new one, or list yours with `GET /api/coding/sessions/{sessionId}/shares`.",
  },
  recording_not_found: {
    meaning: "This session has no recording, or it was deleted to make space for newer ones.",
    remedy: "Read the conversation instead: `coding_read_session`.",
  },
  attachment_not_found: {
    meaning: "No attachment has this id, it belongs to another account or another session, or it was deleted.",
    remedy: "Upload the file again: `POST /api/coding/attachments`. Files that no prompt uses are deleted after a day.",
  },
  clone_not_found: listIt("clone", "GET /api/folders/clones"),
  script_not_found: listIt("script run", "GET /api/coding/scripts"),
  image_not_found: {
    meaning: "No tool call with this id in this turn returned an image at this position.",
    remedy: "Read the turn again: `coding_read_session`. Its tool results list their images.",
  },
  attachment_in_use: {
    meaning: "A prompt that is waiting for the agent uses this attachment.",
    remedy: "Delete it after the agent has received the prompt, or cancel the prompt first.",
  },
  attachment_too_large: {
    meaning: "The file is larger than 20 MB, or the files of the session or account exceed their limit.",
    remedy: "Send a smaller file, or delete attachments that you no longer need.",
  },
  attachment_type_refused: {
    meaning:
      "The file is damaged, does not match its name, or is not a PNG, JPEG, GIF or WebP image, a PDF or UTF-8 text.",
    remedy: "Convert the file, or copy it into the agent's folder and mention its path in the prompt.",
  },
  account_exists: { meaning: "Another account has this name.", remedy: "Choose another name." },
  session_busy: {
    meaning: "The session runs outside Postern, its prompt queue is full, or it must be closed first.",
    remedy:
      "Depending on the message: end the session where it runs, wait for queued prompts, or close the session. Then retry.",
  },
  session_mismatch: {
    meaning: "The session has a different agent, directory or worktree than the request.",
    remedy: "Use the values in the message, or start a new session.",
  },
  branch_exists: { meaning: "The branch for the new worktree already exists.", remedy: "Choose another `branch`." },
  branch_checked_out: {
    meaning: "The branch is checked out elsewhere.",
    remedy: "Choose another branch, or switch branches in the other checkout.",
  },
  worktree_exists: {
    meaning: "The path of the worktree already exists, or all names for a new one are taken.",
    remedy: "Choose another `branch`, or move the existing directory.",
  },
  worktree_conflict: {
    meaning: "Restoring would overwrite files that have changed since. Nothing was restored.",
    remedy: "Move these files, or restore with `force`.",
  },
  idempotency_conflict: {
    meaning: "This idempotency key was already used with a different request.",
    remedy: "Use a new key for each request. Reuse a key only to retry the same request.",
  },
  permission_pending: {
    meaning: "The agent is waiting for an answer and would treat a prompt as one.",
    remedy: "Answer it with `coding_answer_permission`, or deny it and end the turn with `coding_interrupt`.",
  },
  composer_not_empty: {
    meaning: "The agent's composer contains text typed in its terminal, which would be sent with the prompt.",
    remedy: 'Set `onDraft` to `"clear"` to remove that text, or to `"append"` to send it with the prompt.',
  },
  prompt_already_sent: {
    meaning: "The prompt is no longer in the queue: it was sent to the agent, or given up. Nothing was changed.",
    remedy: "List the queue again. To stop what the agent does with a sent prompt, use `coding_interrupt`.",
  },
  comment_already_sent: {
    meaning: "The text of a comment that was sent to the agent cannot be changed.",
    remedy: 'Reopen the comment with `"state": "open"`, then change it and send it again, or add another comment.',
  },
  turn_not_recorded: {
    meaning:
      "`against=turn` compares with the files at the beginning of the agent's last turn, and Postern did not record them: the gateway has restarted since then, no turn began through it, or there was too much to record.",
    remedy: "Compare with `base` or `seen`, or wait for the agent's next turn.",
  },
  comment_text_changed: {
    meaning: "The file does not have these lines, or their text is different. The comment was not added.",
    remedy: "Read the session's diff again, and comment on the lines that it has now.",
  },
  setup_failed: {
    meaning: "The folder's setup script failed, so no agent was started. The worktree is kept.",
    remedy:
      "Read its output in the terminal `scriptId`, and fix the cause. A prompt with the `sessionId` of the error runs it again and starts the agent.",
  },
  setup_running: {
    meaning: "The folder's setup script is still running. The agent starts when it has ended, and gets the prompt.",
    remedy:
      "Do not send the prompt again. Follow the output in the terminal `scriptId`, then read the session `sessionId`.",
  },
  proposal_changed: {
    meaning: "The repository's proposal is not the one that you approve.",
    remedy: "Read the proposal again, then approve its `hash`.",
  },
  clone_target_exists: {
    meaning: "The parent folder already has an entry with the name of the clone.",
    remedy: "Choose another `name`.",
  },
  nothing_to_send: {
    meaning: "The session has no open review comments, or they changed during the request. Nothing was sent.",
    remedy: "Add a comment, or reopen one. List them with `GET /api/coding/sessions/{sessionId}/comments`.",
  },
  agent_working: {
    meaning: "An agent is working on these files, so its changes may be incomplete. Nothing was changed.",
    remedy: "Wait for the end of its turn, interrupt it with `coding_interrupt`, or set `whileWorking`.",
  },
  comparison_decided: {
    meaning: "Another session of this comparison was already kept. Nothing was closed.",
    remedy: "Resume the session that you want with a prompt, and restore its saved work with `postern rescue restore`.",
  },
  changes_outdated: {
    meaning: "The file or hunk is no longer among the changes. Nothing was staged.",
    remedy: "Read the status and the hunks again.",
  },
  nothing_to_commit: {
    meaning: "No changes are staged.",
    remedy: "Stage files first, or set `all` to commit all changes.",
  },
  uncommitted_changes: {
    meaning: "Tracked files have uncommitted changes that the action could overwrite. Nothing was changed.",
    remedy: "Commit them first.",
  },
  update_conflict: {
    meaning: "The update stopped, because both sides changed the same lines. `files` lists the conflicts.",
    remedy: "Resolve and stage them, or let the agent do it, and continue the update; or abort it.",
  },
  update_in_progress: {
    meaning: "A merge, rebase or similar operation has not ended.",
    remedy: "Continue or abort it: `POST /api/coding/sessions/{sessionId}/git/update`.",
  },
  no_update_in_progress: {
    meaning: "There is no update to continue or abort.",
    remedy: "Read the status again.",
  },
  push_rejected: {
    meaning:
      "The remote did not accept the push: it has commits that this branch does not have, or one of its rules or hooks refused.",
    remedy:
      "Read `output`. Update the branch first, or after a rebase of a branch that Postern created, set `forceWithLease`.",
  },
  branch_not_pushed: {
    meaning: "The session's branch has commits that are not on the remote. No pull request was opened.",
    remedy: "Push the branch first: `POST /api/coding/sessions/{sessionId}/git/push`.",
  },
  pull_request_not_found: {
    meaning: "The session's branch has no open pull request.",
    remedy: "Open one: `POST /api/coding/sessions/{sessionId}/git/pull-request`.",
  },
  pull_request_exists: {
    meaning: "The branch already has an open pull request.",
    remedy: "Read it: `GET /api/coding/sessions/{sessionId}/git/pull-request`.",
  },
  pull_request_changed: {
    meaning: "The pull request does not have the commit `headCommit`: the branch was pushed to. Nothing was merged.",
    remedy: "Read the pull request again, and merge with its present `headCommit`.",
  },
  merge_rejected: {
    meaning: "The forge did not merge the pull request: it has conflicts, or checks or approvals are required.",
    remedy: "Read the message. Update the branch, repair the checks, or choose another `method`.",
  },
  forge_not_available: {
    meaning:
      "The session's remote is not on GitHub, or `gh` is missing, too old, or not logged in to its host with access to the repository.",
    remedy: "Run the command in the message, for example `gh auth login --hostname github.com`.",
  },
  forge_failed: {
    meaning: "The forge cannot be reached, or it did not do what was asked. The message has its reason.",
    remedy: "Fix what it reports, then retry.",
  },
  git_failed: {
    meaning: "Git or one of its hooks failed. `output` has what it printed.",
    remedy: "Fix what it reports, then retry. A failed hook prevents a commit or a push.",
  },
  too_large: {
    meaning: "The body, prompt, file or answer exceeds its size limit.",
    remedy: "Send less data. For the request body, you can raise the setting `bodyLimitBytes`.",
  },
  unsupported_media_type: {
    meaning: "This route does not support the content type of the body.",
    remedy: "Send `Content-Type: application/json`. OAuth routes require `application/x-www-form-urlencoded`.",
  },
  dir_not_found: {
    meaning: "The directory does not exist, or the gateway's user cannot access it.",
    remedy: "Use the absolute path of a directory on the gateway's machine.",
  },
  not_a_git_repository: {
    meaning: "A worktree requires a Git repository, and the directory is not in one.",
    remedy: "Omit `worktree`, or run `git init` and create a first commit.",
  },
  webhook_url_refused: {
    meaning:
      "Events can never reach the webhook's URL: it is not https, not on the public internet, or has credentials.",
    remedy:
      "Use an https URL without credentials on the public internet, or allow the host with the setting `allowPrivateAddresses`. Receivers authenticate requests by verifying their signatures.",
  },
  push_endpoint_refused: {
    meaning: "The browser's push service cannot be reached: its URL is not https, or not on the public internet.",
    remedy: "Use a browser with a public push service, or allow the host with the setting `allowPrivateAddresses`.",
  },
  rule_too_broad: {
    meaning: "The pattern of the standing rule would allow almost anything, such as every command or an interpreter.",
    remedy: "Choose a narrower pattern, or repeat the exact pattern in `confirm`.",
  },
  base_branch_not_found: {
    meaning: "The base branch, tag or commit does not exist in the repository.",
    remedy: "Fetch it, or use a `baseBranch` that `git rev-parse` resolves.",
  },
  branch_not_found: {
    meaning: "The branch of the session's worktree no longer exists, so the worktree cannot be recreated.",
    remedy: "Recreate the branch with `git branch <name> <commit>`, or start a new session.",
  },
  agent_not_configured: {
    meaning: "No agent is configured, or several are and none is the default.",
    remedy: "Run `postern coding setup`, or set `agent` in the request.",
  },
  agent_binary_missing: {
    meaning: "The agent's program was not found at its configured path or on the gateway's PATH.",
    remedy: "Install it, or run `postern coding setup --agent <name> --binary <path>`.",
  },
  agent_version_unsupported: {
    meaning: "The installed version of the agent is older than the oldest that Postern supports.",
    remedy: "Run the command in the message, which updates the agent.",
  },
  model_not_supported: {
    meaning: "The agent does not support this model or system prompt, or cannot change it while the session runs.",
    remedy: "Omit it, or start a new session.",
  },
  too_many_sessions: {
    meaning: "The maximum number of live sessions is reached.",
    remedy: "Close a session, or raise `maxSessions`. Retry after the time in `Retry-After`.",
  },
  rate_limited: {
    meaning: "Too many requests of this kind, or too many at once.",
    remedy: "Retry after the time in `Retry-After`.",
  },
  internal_error: {
    meaning: "An unexpected error in the gateway. The response contains no details.",
    remedy: "Search the gateway's log for the request id in the message, and run `postern doctor`.",
  },
  store_unavailable: {
    meaning: "The database (SQLite or PostgreSQL) is unavailable, or the disk is full or read-only.",
    remedy:
      "Retry after the time in `Retry-After`. If it persists, check the database server and free disk space, and run `postern doctor`.",
  },
  agent_start_failed: {
    meaning: "The agent exited or was not ready in time. `lastScreen` has its last output.",
    remedy: "Fix the problem it reports, often a missing login. Check with `postern doctor --smoke`, then retry.",
  },
  worktree_failed: {
    meaning: "A Git command failed. All changes were rolled back.",
    remedy: "Fix the problem that Git reports in the message, then retry.",
  },
  terminal_host_unavailable: {
    meaning: "The terminal host does not respond. It is being restarted.",
    remedy: "Retry in a moment. If it persists, run `postern doctor`.",
  },
  transcript_unreadable: {
    meaning: "The session's transcript cannot be read right now.",
    remedy: "Retry. The gateway's log has the reason.",
  },
  gateway_stopping: {
    meaning: "The gateway is shutting down. Agents keep running.",
    remedy: "Retry when it is back. With the same `idempotencyKey`, a request is not run twice.",
  },
} satisfies Record<ProblemCode, ProblemHelp>;
