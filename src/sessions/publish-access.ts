import { hasCode } from "../core/errors.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { FolderRule, WorktreeRecord, Worktrees } from "../worktrees/index.ts";
import { filesRule } from "../worktrees/index.ts";
import { isResting } from "./activity.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { SessionLocator } from "./locate.ts";

/** What publishing needs of sessions and folders. */
export interface PublishAccess {
  /** @throws PosternError `session_not_found` | `dir_not_allowed` | `dir_not_found` */
  placeOf(
    sessionId: string,
    caller: Caller,
  ): Promise<{ readonly sessionId: string; readonly dir: string; readonly worktree: WorktreeRecord | null }>;
  /** Whether the caller can use files, and agents can work, in all of these directories. */
  mayUse(dirs: readonly string[], caller: Caller): Promise<boolean>;
  /** Whether any session in this directory has a running turn. */
  isAgentWorking(root: string): boolean;
}

/** @see PublishAccess */
export function createPublishAccess(deps: {
  readonly locator: Pick<SessionLocator, "locate">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly live: Pick<LiveSessions, "all">;
  readonly resolveAllowedDir: FolderRule["resolveAllowedDir"];
  readonly visibleAmong: VisibleAmong;
}): PublishAccess {
  return {
    async placeOf(sessionId, caller) {
      const { record } = await deps.locator.locate(sessionId, caller);
      const { dir } = await deps.resolveAllowedDir(record.dir, { scope: "files", caller });
      return { sessionId: record.sessionId, dir, worktree: await deps.worktrees.ofSession(record.sessionId) };
    },

    async mayUse(dirs, caller) {
      const inFiles = await deps.visibleAmong(dirs, filesRule(caller));
      const inCoding = await deps.visibleAmong(dirs, { scope: "coding", within: caller.folders });
      if (!dirs.every((dir) => inFiles.has(dir) && inCoding.has(dir))) return false;
      try {
        // Also refuses a repository that contains Postern's state folder, because `git add --all` would commit the key in it.
        for (const dir of dirs) await deps.resolveAllowedDir(dir, { scope: "files", caller });
        return true;
      } catch (error) {
        if (hasCode(error, "dir_not_allowed")) return false;
        throw error;
      }
    },

    isAgentWorking: (root) =>
      deps.live
        .all()
        .some(
          ({ record, exit, state }) => exit === null && `${record.dir}/`.startsWith(`${root}/`) && !isResting(state),
        ),
  };
}
