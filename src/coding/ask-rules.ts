import { findRepositoryRoot } from "../platform/git.ts";
import type { AskInput, PermissionMode } from "../wire/coding.ts";
import { codingError } from "./errors.ts";
import type { LocatedSession } from "./locate.ts";
import type { AllowedDir, Caller } from "./ports.ts";

/** One call of `coding_ask`, with what the rules made of it. */
export interface AskRequest {
  readonly input: AskInput;
  readonly caller: Caller;
  readonly permissionMode: PermissionMode;
  readonly place: AllowedDir;
  readonly signal: AbortSignal;
}

/** Whether the request means this session: its agent, and its directory or repository. @throws PosternError `session_mismatch` */
export async function requireSameSession(session: LocatedSession, { input, place }: AskRequest): Promise<void> {
  const { record, template } = session;
  if (input.agent !== undefined && input.agent !== template.name && !template.aliases.includes(input.agent)) {
    throw codingError(
      "session_mismatch",
      `Session ${record.sessionId} is one of ${template.name}, not of ${input.agent}.`,
    );
  }
  if (place.dir === record.dir || place.dir === (await findRepositoryRoot(record.dir))) return;
  throw codingError(
    "session_mismatch",
    `Session ${record.sessionId} works in ${record.dir}, not in ${place.dir}. Name its directory or its repository.`,
  );
}

export function refuseUnbuilt(input: AskInput): void {
  for (const field of ["worktree", "baseBranch", "branch"] as const) {
    if (input[field] === undefined || input[field] === false) continue;
    throw codingError(
      "invalid_request",
      `"${field}" is not supported yet. Leave it out to work in the directory itself.`,
    );
  }
}

/** What goes beyond text and mode `ask` needs the scope `coding:drive`. */
export function allowedMode(input: AskInput, caller: Caller): PermissionMode {
  const mode = input.permissionMode ?? "ask";
  if (!caller.scopes.has("coding:drive") && (mode !== "ask" || input.allowCommands === true)) {
    const field = mode === "ask" ? "allowCommands" : `permissionMode "${mode}"`;
    throw codingError("insufficient_scope", `${field} needs the scope coding:drive.`);
  }
  return mode;
}
