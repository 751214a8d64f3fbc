import type { AuditAction } from "../wire/accounts.ts";
import type { Caller } from "../wire/caller.ts";

/** Where a session works. All paths are real paths. */
export interface PublishPlace {
  readonly sessionId: string;
  readonly dir: string;
  /** The worktree that Postern made for it. */
  readonly worktree: {
    readonly path: string;
    readonly gitDir: string | null;
    readonly commonDir: string;
    /** The repository that it counts as for the folder rule. */
    readonly repository: string;
    readonly branch: string;
    readonly baseBranch: string;
  } | null;
}

/** What publishing needs of sessions, folders and the audit log. */
export interface PublishPorts {
  /** @throws PosternError `session_not_found` | `dir_not_allowed` | `dir_not_found` */
  placeOf(sessionId: string, caller: Caller): Promise<PublishPlace>;
  /** Whether the caller can use files, and agents can work, in all of these directories. */
  mayUse(dirs: readonly string[], caller: Caller): Promise<boolean>;
  /** Whether any session in this directory has a running turn. */
  isAgentWorking(root: string): boolean;
  note(entry: {
    readonly action: AuditAction;
    readonly accountId: string;
    readonly subject: string;
    readonly details: Readonly<Record<string, unknown>>;
  }): Promise<void>;
}
