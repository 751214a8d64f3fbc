import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findRepository } from "../platform/git-repository.ts";
import { branchCommit, checkedOutElsewhere, isCheckedOut, requireFreePath, worktreeExists } from "./branch-rules.ts";
import { copyIncluded } from "./include-files.ts";
import { explained, fill, requireRepository, toInclude } from "./make-worktree.ts";
import { type WorktreeDeps, worktreeError } from "./worktree-deps.ts";
import { folderWithin, removeGitDir, removeOwnFolder } from "./worktree-files.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/**
 * Recreates a removed worktree from its branch, at the same path.
 * @throws PosternError `branch_not_found` | `branch_checked_out` | `worktree_exists` | `worktree_failed`
 */
export async function remakeWorktree(deps: WorktreeDeps, removed: WorktreeRecord): Promise<WorktreeRecord> {
  const { git, store } = deps;
  const { commonDir, branch, path, repository, sessionId } = removed;
  if ((await findRepository(repository))?.commonDir !== commonDir) {
    throw worktreeError(
      "not_a_git_repository",
      `The repository ${repository} of session ${sessionId} no longer exists.`,
    );
  }
  const commit = await branchCommit(git, commonDir, branch);
  if (commit === null) {
    throw worktreeError(
      "branch_not_found",
      `Cannot recreate the worktree of session ${sessionId}: its branch ${branch} no longer exists.`,
    );
  }
  if (await isCheckedOut(git, commonDir, branch)) throw checkedOutElsewhere(branch);
  await requireFreePath(path);
  const include = await toInclude(deps, await requireRepository(repository)).catch((error: unknown) => {
    deps.log.warn({ path, error }, "cannot copy included files to a recreated worktree");
    return null;
  });
  const state = { state: "recreating", gitDir: null, inode: null, included: include?.names ?? [] } as const;
  const made = { record: await taking(path, store.update(removed, state)) };
  try {
    await deps.onStep("intent");
    made.record = await fill(deps, made.record, { at: removed, commit, onRecord: (now) => void (made.record = now) });
    if (removed.subFolder !== "" && (await folderWithin(path, removed.subFolder)) === null) {
      await mkdir(join(path, removed.subFolder), { recursive: true }); // no longer in the branch, but the agent starts there
    }
    const included = include === null ? [] : await copyIncluded(include, path);
    return await store.update(made.record, { state: "ready", included, closing: null, ignoredLost: null });
  } catch (error) {
    await undoRemaking(deps, made.record);
    throw explained(error, path);
  }
}

/** A removed worktree stays removed. */
export async function undoRemaking({ store, log }: WorktreeDeps, record: WorktreeRecord): Promise<void> {
  try {
    await removeOwnFolder(record.path, record.inode);
    await removeGitDir(record);
    await store.update(record, { state: "removed", gitDir: null, inode: null });
  } catch (error) {
    log.error({ path: record.path, error }, "cannot undo the creation of a worktree; trying again at the next start");
  }
}

/** Another worktree may now use the path; the store has at most one worktree for each path. */
async function taking(path: string, update: Promise<WorktreeRecord>): Promise<WorktreeRecord> {
  try {
    return await update;
  } catch (error) {
    throw worktreeExists(path, error);
  }
}
