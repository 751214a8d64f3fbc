import type { AuditAction } from "../wire/accounts.ts";
import type { Caller } from "../wire/caller.ts";
import type { SessionDiff } from "../wire/changes.ts";
import type { AskInput, CloseOutput, ReadInput, ReadOutput } from "../wire/coding.ts";

/** What comparisons need from sessions and folders. Each call throws what its route throws. */
export interface ComparisonPorts {
  /**
   * The directory and the commit where all worktrees start.
   * @param place `baseBranch`: null for the default branch; `scope`: what its folder must have
   * @throws PosternError `dir_not_allowed` | `dir_not_found` | `not_a_git_repository` | `base_branch_not_found`
   */
  baseOf(
    place: { readonly dir: string; readonly baseBranch: string | null; readonly scope: "coding" | "exec" },
    caller: Caller,
  ): Promise<{ readonly dir: string; readonly baseBranch: string; readonly baseCommit: string }>;
  /** `coding_ask` for a new session, which is started even if its caller disconnects. */
  ask(input: AskInput & { readonly baseCommit: string }, caller: Caller): Promise<{ readonly sessionId: string }>;
  read(input: ReadInput, caller: Caller): Promise<ReadOutput>;
  diff(sessionId: string, caller: Caller): Promise<SessionDiff>;
  close(sessionId: string, caller: Caller): Promise<CloseOutput>;
  isVisible(dir: string, caller: Caller): Promise<boolean>;
  /** A prompt's attachments cannot be shared between sessions. @returns the ids of new copies */
  copyAttachments(attachmentIds: readonly string[], caller: Caller): Promise<readonly string[]>;
  detach(attachmentIds: readonly string[], caller: Caller): Promise<void>;
  titleOf(prompt: string): string | null;
  note(entry: {
    readonly action: AuditAction;
    readonly accountId: string;
    readonly subject: string;
    readonly details: Readonly<Record<string, string | number>>;
  }): Promise<void>;
}
