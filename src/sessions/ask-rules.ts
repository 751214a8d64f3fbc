import { join } from "node:path";
import { hasCode } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { KeyedLock } from "../core/single-flight.ts";
import { findRepositoryRoot } from "../platform/git-repository.ts";
import type { AllowedDir, Caller } from "../wire/caller.ts";
import type { AskInput, OnDraft, PermissionMode } from "../wire/coding.ts";
import type { NewWorktree, WorktreeRecord } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession } from "./locate.ts";
import type { PromptQueue, RememberedRequest } from "./prompt-queue.ts";
import type { OnSetup } from "./set-up.ts";
import type { NewPrompt } from "./start.ts";

/** A request from a caller, or from the gateway itself. */
export interface AskOrder extends AskInput {
  /** The commit of the worktree's `baseBranch`, if it is already resolved. */
  readonly baseCommit?: string;
}

/** One call of `coding_ask`, checked. */
export interface AskRequest {
  readonly input: AskOrder;
  readonly caller: Caller;
  readonly permissionMode: PermissionMode;
  readonly place: AllowedDir;
  readonly signal: AbortSignal;
  /** For a new session with a setup script. */
  readonly onSetup: OnSetup;
  /** The time at which the caller's wait ends; infinite without `waitMs`. */
  readonly deadline: number;
}

/** Requires that the request fits the session: its agent, its directory or repository, its worktree. @throws PosternError `session_mismatch` */
export async function requireSameSession(
  session: LocatedSession,
  { input, place }: AskRequest,
  worktree: WorktreeRecord | null,
): Promise<void> {
  const { record, template } = session;
  if (input.agent !== undefined && input.agent !== template.name && !template.aliases.includes(input.agent)) {
    throw sessionError(
      "session_mismatch",
      `Session ${record.sessionId} belongs to ${template.name}, not to ${input.agent}.`,
    );
  }
  requireSameWorktree(record.sessionId, wantedWorktree(input), worktree);
  if (worktree !== null) {
    const { path, repository, subFolder } = worktree;
    if ([record.dir, path, repository, join(repository, subFolder)].includes(place.dir)) return;
  }
  if (place.dir === record.dir || place.dir === (await findRepositoryRoot(record.dir))) return;
  throw sessionError(
    "session_mismatch",
    `Session ${record.sessionId} works in ${record.dir}, not in ${place.dir}. Set "dir" to its directory or its repository.`,
  );
}

/** The worktree of a request; null if it asks for none. @throws PosternError `invalid_request` when its fields do not go together */
export function wantedWorktree({
  worktree = false,
  baseBranch,
  branch,
  baseCommit,
}: Pick<AskOrder, "worktree" | "baseBranch" | "branch" | "baseCommit">): Pick<
  NewWorktree,
  "baseBranch" | "branch" | "baseCommit"
> | null {
  if (worktree === true) {
    if (baseBranch !== undefined && branch !== undefined) return { baseBranch, branch };
    throw sessionError(
      "invalid_request",
      'With "worktree": true, set "baseBranch", which it starts from, and "branch", the new branch. With "worktree": {}, both are optional.',
    );
  }
  if (baseBranch !== undefined || branch !== undefined) {
    throw sessionError(
      "invalid_request",
      '"baseBranch" and "branch" go with "worktree": true. Add it, or put them into "worktree", or omit them.',
    );
  }
  if (worktree === false) return null;
  const { baseBranch: base = null, branch: name = null } = worktree;
  return { baseBranch: base, branch: name, ...(baseCommit !== undefined && { baseCommit }) };
}

/** A session keeps its worktree. @throws PosternError `session_mismatch` when another one is asked for */
export function requireSameWorktree(
  sessionId: string,
  wanted: ReturnType<typeof wantedWorktree>,
  own: { readonly branch: string } | null,
): void {
  if (wanted === null || (own !== null && (wanted.branch ?? own.branch) === own.branch)) return;
  throw sessionError(
    "session_mismatch",
    `Session ${sessionId} works ${own === null ? "in no worktree" : `on the branch ${own.branch}`}. Omit "worktree", or start a new session.`,
  );
}

/** Anything beyond text and mode `ask` needs the scope `coding:drive`. */
export function allowedMode(input: AskInput, caller: Caller): PermissionMode {
  const mode = input.permissionMode ?? "ask";
  const isCommand = input.kind === "command";
  if (!caller.scopes.has("coding:drive") && (mode !== "ask" || isCommand || input.allowCommands === true)) {
    const field = mode !== "ask" ? `permissionMode "${mode}"` : isCommand ? 'kind "command"' : "allowCommands";
    const details = { scope: "coding:drive" };
    throw sessionError("insufficient_scope", `${field} needs the scope coding:drive.`, { details });
  }
  return mode;
}

/**
 * Requires that the caller may send prompts to a session. A session that never asks for permission also requires `coding:drive`.
 * @throws PosternError `insufficient_scope`
 */
export function requireMayPrompt(
  { sessionId, permissionMode }: { readonly sessionId: string; readonly permissionMode: PermissionMode },
  caller: Caller,
): void {
  if (permissionMode === "ask" || caller.scopes.has("coding:drive")) return;
  throw sessionError(
    "insufficient_scope",
    `Session ${sessionId} runs in mode "${permissionMode}", without asking for permission. Sending to it needs the scope coding:drive.`,
    { details: { scope: "coding:drive" } },
  );
}

// Enough to recognize the typed text.
const shownDraftLength = 200;

type DraftedSession = Pick<LiveSession, "draft"> & { readonly record: Pick<LiveSession["record"], "sessionId"> };

/**
 * Refuses a prompt when the composer holds other text. Checked only while the agent is idle: for a prompt that waits for a turn, the
 * composer is checked when the turn ends.
 *
 * @throws PosternError `composer_not_empty` | `prompt_not_text`
 */
export async function checkDraft(
  live: DraftedSession,
  prompt: Pick<NewPrompt, "checkBehind">,
  onDraft: OnDraft | undefined,
): Promise<void> {
  if (onDraft === "clear") return;
  const draft = await live.draft();
  if (!draft) return;
  if (onDraft === "append") return prompt.checkBehind(draft);
  throw sessionError(
    "composer_not_empty",
    `The composer of session ${live.record.sessionId} contains text that was typed in the terminal. Set onDraft to "clear" to remove it, or to "append" to send it with your prompt.`,
    { details: { draft: draft.slice(0, shownDraftLength) } },
  );
}

/** The same check just before the prompt is typed, in case the draft has changed. A prompt that must not be appended to the draft waits. */
export function mayFollow(prompt: Pick<NewPrompt, "checkBehind">): (draft: string) => Promise<boolean> {
  return async (draft) => {
    try {
      await prompt.checkBehind(draft);
      return true;
    } catch (error) {
      if (hasCode(error, "prompt_not_text") || hasCode(error, "command_not_sendable")) return false;
      throw error;
    }
  };
}

/** A command is sent with nothing else. @throws PosternError `invalid_request` */
export function requireAlone({ kind, attachments = [], onDraft, allowCommands }: AskInput): void {
  if (kind !== "command") return;
  const field = attachments.length > 0 ? "attachments" : onDraft === "append" ? 'onDraft "append"' : null;
  const other = field ?? (allowCommands === true ? "allowCommands" : null);
  if (other === null) return;
  throw sessionError("invalid_request", `A command is sent alone. Omit ${other}, or omit "kind".`);
}

/** Runs a request with an idempotency key at most once; a repeat gets the result of the first. */
export async function once<T extends Omit<RememberedRequest, "requestHash">>(
  { lock, queue }: { readonly lock: KeyedLock; readonly queue: PromptQueue },
  { input, caller }: AskRequest,
  run: () => Promise<T>,
): Promise<T | RememberedRequest> {
  const key = input.idempotencyKey;
  if (key === undefined) return run();
  return lock.run(`${caller.accountId} ${key}`, async () => {
    const remembered = await queue.remembered(caller.accountId, key);
    if (remembered === null) return runOrForget(key);
    if (remembered.requestHash !== hashOf(input)) {
      throw sessionError(
        "idempotency_conflict",
        `The idempotencyKey "${key}" was already used for a different request. Use a new key for each request.`,
      );
    }
    return remembered;
  });

  /** A request that failed can be repeated under its key. */
  async function runOrForget(named: string): Promise<T> {
    try {
      return await run();
    } catch (error) {
      await queue.forgetRequest(caller.accountId, named);
      throw error;
    }
  }
}

/** Hashes what the request asks for; how long it waits for the answer does not matter. */
export function hashOf({ waitMs: _waitMs, idempotencyKey: _key, ...request }: AskOrder): string {
  return sha256(JSON.stringify(Object.entries(request).toSorted(([left], [right]) => (left < right ? -1 : 1))));
}
