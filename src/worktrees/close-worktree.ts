import { join, resolve } from "node:path";
import { messageOf } from "../core/errors.ts";
import { findRepository, readPointer } from "../platform/git-repository.ts";
import { rescue } from "./rescue.ts";
import { shownName } from "./tree-walk.ts";
import type { WorktreeDeps } from "./worktree-deps.ts";
import { inodeOf, isSameFolder, lockReason, removeGitDir, removeTree } from "./worktree-files.ts";
import type { IgnoredLost, WorktreeRecord } from "./worktree-store.ts";

/** What happened to a worktree when its session was closed. */
export interface ClosedWorktree {
  readonly path: string;
  readonly removed: boolean;
  /** Why it was kept. */
  readonly reason: string | null;
  readonly rescue: { readonly ref: string; readonly commit: string; readonly files: number } | null;
  readonly ignoredLost: IgnoredLost;
  readonly branchKept: string | null;
}

const nothing: IgnoredLost = { count: 0, bytes: 0, first20: [] };

/**
 * Rescues uncommitted work, then removes the worktree and keeps its branch. If either fails, the
 * worktree stays and the result has the reason. Its processes must have ended.
 */
export async function closeWorktree(
  deps: WorktreeDeps,
  record: WorktreeRecord,
  { discard }: { readonly discard: boolean },
): Promise<ClosedWorktree> {
  if (record.state === "removed") return outcome(record, { removed: true, reason: null });
  if (record.state === "removing") return finishRemoval(deps, record);
  const obstacle = await obstacleTo(record);
  if (obstacle !== null) return stays(deps, record, obstacle);
  const closing = await deps.store.update(record, { state: "closing", closing: discard ? "discard" : "keep" });
  await deps.onStep("closing");
  try {
    const { gitDir } = closing;
    if (gitDir === null) return await finishRemoval(deps, closing);
    const kept = await rescue(deps, { ...closing, gitDir }, { discard });
    if (kept.kind === "kept") return await stays(deps, closing, kept.reason);
    await deps.onStep("rescued");
    const fresh = { rescueRef: null, rescueCommit: null, rescueFiles: null } as const;
    const removing = await deps.store.update(closing, { ...kept.patch, state: "removing" });
    await deps.onStep("removing");
    const { rescueRef, rescueCommit, rescueFiles } = kept.patch;
    // The result has only this close's rescue; an earlier one stays in the record.
    return await finishRemoval(deps, removing, {
      ...fresh,
      ...(rescueRef && { rescueRef, rescueCommit, rescueFiles }),
    });
  } catch (error) {
    deps.log.warn({ path: record.path, error }, "kept a worktree because its contents cannot be backed up");
    return stays(deps, closing, `Its contents could not be backed up: ${plain(messageOf(error))}`);
  }
}

/** Why a worktree must not be removed: it was locked, moved or replaced, or git no longer lists it. */
export async function obstacleTo({
  path,
  gitDir,
  commonDir,
  inode,
  repository,
}: WorktreeRecord): Promise<string | null> {
  const present = await inodeOf(path);
  const known = gitDir !== null && (await readPointer(join(gitDir, "HEAD"))) !== null;
  if (gitDir === null || !known) {
    return present === null
      ? null
      : "The repository no longer lists this worktree, so Git cannot tell what changed in it.";
  }
  if (present !== null && !isSameFolder(present, inode))
    return "It is not the directory that was created for this session.";
  if ((await readPointer(join(gitDir, "gitdir"))) !== join(path, ".git")) return "The worktree was moved.";
  const common = await readPointer(join(gitDir, "commondir"));
  if (common === null || resolve(gitDir, common) !== commonDir) {
    return "Its entry in the repository was changed. Run `git worktree repair`, then close again.";
  }
  const lock = await lockReason(gitDir);
  if (lock !== null)
    return `It is locked${lock === "" ? "" : ` (${plain(lock)})`}. Run \`git worktree unlock\`, then close again.`;
  if ((await findRepository(repository))?.commonDir !== commonDir) return "Its repository was moved or removed.";
  return null;
}

/** Removes the worktree after a finished rescue or a discard. Can be called again until everything is gone. */
export async function finishRemoval(
  deps: WorktreeDeps,
  record: WorktreeRecord,
  rescued: Partial<WorktreeRecord> = {},
): Promise<ClosedWorktree> {
  const shown = { ...record, ...rescued };
  try {
    // Another folder that has taken its place must not be removed.
    if (isSameFolder(await inodeOf(record.path), record.inode)) await removeTree(record.path);
    await deps.onStep("folder removed");
    await removeGitDir(record);
    await deps.onStep("entry removed");
  } catch (error) {
    deps.log.warn({ path: record.path, error }, "cannot remove a worktree");
    await deps.store.update(record, { state: "removing" });
    return outcome(shown, {
      removed: false,
      reason: `Its contents are safe, but it could not be removed completely: ${plain(messageOf(error))}. Close again to retry.`,
    });
  }
  await deps.store.update(record, { state: "removed", closing: null, gitDir: null, inode: null });
  return outcome(shown, { removed: true, reason: null });
}

async function stays(deps: WorktreeDeps, record: WorktreeRecord, reason: string): Promise<ClosedWorktree> {
  if (record.state !== "ready") await deps.store.update(record, { state: "ready", closing: null });
  return {
    ...outcome({ ...record, ignoredLost: null, rescueRef: null }, { removed: false, reason }),
  };
}

function outcome(
  { path, branch, rescueRef, rescueCommit, rescueFiles, ignoredLost }: WorktreeRecord,
  { removed, reason }: { readonly removed: boolean; readonly reason: string | null },
): ClosedWorktree {
  return {
    path,
    removed,
    reason,
    rescue:
      rescueRef === null || rescueCommit === null
        ? null
        : { ref: rescueRef, commit: rescueCommit, files: rescueFiles ?? 0 },
    ignoredLost: ignoredLost ?? nothing,
    branchKept: branch,
  };
}

/** Output of git or a repository is untrusted. */
function plain(text: string): string {
  return shownName(Buffer.from(text).toString("latin1"))
    .replace(/\p{Cc}+/gu, " ")
    .trim();
}
