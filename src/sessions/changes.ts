import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { ClosePreview, SessionDiff } from "../wire/changes.ts";
import type { DiffOf, FolderRule, WorktreeRecord, Worktrees } from "../worktrees/index.ts";
import { filesRule } from "../worktrees/index.ts";
import type { SessionLocator } from "./locate.ts";

/** What sessions changed, and what their close would do. */
export interface Changes {
  /**
   * `GET /api/coding/sessions/{id}/diff`: for who may see the session, and files in its folder.
   * @throws PosternError `session_not_found` | `dir_not_allowed` | `dir_not_found`, and those of the comparison
   */
  diff(sessionId: string, caller: Caller): Promise<SessionDiff>;
  /** `GET /api/coding/sessions/{id}/close-preview`. @throws PosternError `session_not_found` | `rate_limited` */
  closePreview(sessionId: string, caller: Caller): Promise<ClosePreview>;
}
export interface ChangesDeps {
  readonly locator: Pick<SessionLocator, "locate">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly sessionDiff: (of: DiffOf) => Promise<SessionDiff>;
  readonly closePreview: (record: WorktreeRecord) => Promise<ClosePreview["worktree"]>;
  readonly resolveAllowedDir: FolderRule["resolveAllowedDir"];
  readonly visibleAmong: VisibleAmong;
}

/** @see Changes */
export function createChanges(deps: ChangesDeps): Changes {
  const { locator, worktrees } = deps;
  return {
    async diff(sessionId, caller) {
      const { record } = await locator.locate(sessionId, caller);
      const { dir } = await deps.resolveAllowedDir(record.dir, { scope: "files", caller });
      return deps.sessionDiff({
        dir,
        worktree: await worktrees.ofSession(record.sessionId),
        visibleAmong: (dirs) => deps.visibleAmong(dirs, filesRule(caller)),
      });
    },

    async closePreview(sessionId, caller) {
      const { record } = await locator.locate(sessionId, caller);
      const worktree = await worktrees.ofSession(record.sessionId);
      return { worktree: worktree && (await deps.closePreview(worktree)) };
    },
  };
}
