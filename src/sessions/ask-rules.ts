import { join } from "node:path";
import { findRepositoryRoot } from "../platform/git.ts";
import type { AllowedDir, Caller } from "../wire/caller.ts";
import type { AskInput, PermissionMode } from "../wire/coding.ts";
import type { WorktreeRecord } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LocatedSession } from "./locate.ts";

/** One call of `coding_ask`, with what the rules made of it. */
export interface AskRequest {
  readonly input: AskInput;
  readonly caller: Caller;
  readonly permissionMode: PermissionMode;
  readonly place: AllowedDir;
  readonly signal: AbortSignal;
  /** When the caller wants its answer, by the clock; infinite without `waitMs`. */
  readonly deadline: number;
}

/** Whether the request means this session: its agent, its directory or repository, its worktree. @throws PosternError `session_mismatch` */
export async function requireSameSession(
  session: LocatedSession,
  { input, place }: AskRequest,
  worktree: WorktreeRecord | null,
): Promise<void> {
  const { record, template } = session;
  if (input.agent !== undefined && input.agent !== template.name && !template.aliases.includes(input.agent)) {
    throw sessionError(
      "session_mismatch",
      `Session ${record.sessionId} is one of ${template.name}, not of ${input.agent}.`,
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
    `Session ${record.sessionId} works in ${record.dir}, not in ${place.dir}. Name its directory or its repository.`,
  );
}

/** The worktree that a request asks for; null for none. @throws PosternError `invalid_request` when its fields do not go together */
export function wantedWorktree({
  worktree = false,
  baseBranch,
  branch,
}: Pick<AskInput, "worktree" | "baseBranch" | "branch">): {
  readonly baseBranch: string;
  readonly branch: string;
} | null {
  if (worktree && baseBranch !== undefined && branch !== undefined) return { baseBranch, branch };
  if (worktree) {
    throw sessionError(
      "invalid_request",
      'A worktree needs both "baseBranch" and "branch": what it is made from, and its own new branch.',
    );
  }
  if (baseBranch === undefined && branch === undefined) return null;
  throw sessionError(
    "invalid_request",
    '"baseBranch" and "branch" are for a worktree. Add "worktree": true, or leave them out.',
  );
}

/** A session keeps the worktree that it has. @throws PosternError `session_mismatch` when another one is asked for */
export function requireSameWorktree(
  sessionId: string,
  wanted: ReturnType<typeof wantedWorktree>,
  own: { readonly branch: string } | null,
): void {
  if (wanted === null || wanted.branch === own?.branch) return;
  throw sessionError(
    "session_mismatch",
    `Session ${sessionId} works ${own === null ? "in no worktree" : `on the branch ${own.branch}`}. Leave "worktree" out, or start a new session.`,
  );
}

/** What goes beyond text and mode `ask` needs the scope `coding:drive`. */
export function allowedMode(input: AskInput, caller: Caller): PermissionMode {
  const mode = input.permissionMode ?? "ask";
  if (!caller.scopes.has("coding:drive") && (mode !== "ask" || input.allowCommands === true)) {
    const field = mode === "ask" ? "allowCommands" : `permissionMode "${mode}"`;
    const details = { scope: "coding:drive" };
    throw sessionError("insufficient_scope", `${field} needs the scope coding:drive.`, { details });
  }
  return mode;
}
