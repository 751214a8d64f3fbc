import { isoTime } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import {
  maxListedPaths,
  type Rescue,
  type RescueInput,
  type RescueListOutput,
  type RescueRestoreInput,
  type RescueRestoreOutput,
  type RescueShowOutput,
} from "../wire/changes.ts";
import {
  filesRule,
  shownName,
  type VisibleFiles,
  visibleFiles,
  type WorktreeRecord,
  type Worktrees,
} from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";

/** The rescues of closed worktrees. */
export interface Rescues {
  list(caller: Caller): Promise<RescueListOutput>;
  /** @throws PosternError `session_not_found` | `rescue_not_found` */
  show(input: RescueInput, caller: Caller): Promise<RescueShowOutput>;
  /**
   * Restores a rescue into its session's worktree, which is created again if it is gone.
   * @throws PosternError `worktree_conflict`, and the errors of `show` and of creating a worktree
   */
  restore(input: RescueRestoreInput, caller: Caller): Promise<RescueRestoreOutput>;
  /** Deletes a rescue permanently; git drops its objects at the next garbage collection. */
  drop(input: RescueInput, caller: Caller): Promise<Rescue>;
}

/** The rescues of sessions that a caller may see. */
export function createRescues({
  locator,
  worktrees,
  visibleAmong,
}: {
  readonly locator: Pick<SessionLocator, "locate" | "withSession">;
  readonly worktrees: Worktrees;
  readonly visibleAmong: VisibleAmong;
}): Rescues {
  async function recordOf(sessionId: string): Promise<WorktreeRecord> {
    const record = await worktrees.ofSession(sessionId);
    if (record !== null) return record;
    throw sessionError("rescue_not_found", `Session ${sessionId} never had a worktree.`);
  }

  function filesFor(caller: Caller, { repository }: WorktreeRecord): VisibleFiles {
    return visibleFiles(repository, (dirs) => visibleAmong(dirs, filesRule(caller)));
  }

  async function isVisible({ sessionId }: WorktreeRecord, caller: Caller): Promise<boolean> {
    try {
      await locator.locate(sessionId, caller);
      return true;
    } catch (error) {
      if (hasCode(error, "session_not_found")) return false;
      throw error;
    }
  }

  return {
    async list(caller) {
      const rescues: Rescue[] = [];
      for (const record of await worktrees.rescued()) {
        if (await isVisible(record, caller)) rescues.push(toRescue(record, record.rescueCommit ?? ""));
      }
      return { rescues };
    },

    async show({ sessionId }, caller) {
      const record = await recordOf((await locator.locate(sessionId, caller)).record.sessionId);
      const { commit, paths } = await worktrees.rescueOf(record);
      const changes = new Map(paths.map(({ name, change }) => [name, change]));
      const names = await filesFor(caller, record)([...changes.keys()], shownName);
      const listed = names.slice(0, maxListedPaths);
      return {
        ...toRescue(record, commit),
        paths: listed.map((name) => ({ path: shownName(name), change: changes.get(name) ?? "modified" })),
        pathCount: names.length,
      };
    },

    restore: ({ sessionId, force = false }, caller) =>
      locator.withSession(sessionId, caller, async (session) => {
        const record = await recordOf(session.record.sessionId);
        const visible = filesFor(caller, record);
        const names = await worktrees.restore(record, { force, visible });
        const listed = await visible(names, shownName);
        return {
          sessionId: record.sessionId,
          path: record.path,
          restored: listed.slice(0, maxListedPaths).map(shownName),
          restoredCount: names.length,
        };
      }),

    drop: ({ sessionId }, caller) =>
      locator.withSession(sessionId, caller, async (session) => {
        const record = await recordOf(session.record.sessionId);
        await worktrees.drop(record);
        return toRescue(record, record.rescueCommit ?? "");
      }),
  };
}

function toRescue(record: WorktreeRecord, commit: string): Rescue {
  const { sessionId, repository, path, branch, rescueRef, rescueFiles, rescuedAt } = record;
  const ref = rescueRef ?? "";
  return {
    sessionId,
    ref,
    commit,
    repository,
    path,
    branch,
    files: rescueFiles ?? 0,
    rescuedAt: isoTime(rescuedAt ?? 0),
  };
}
