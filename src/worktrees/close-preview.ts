import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Gate } from "../core/gate.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import type { ClosePreview } from "../wire/changes.ts";
import { obstacleTo } from "./close-worktree.ts";
import { differingInWorkTree } from "./differing.ts";
import { commitOf, type DeadlineGit, type GitWorkshop, gitUntil, ownObjects } from "./git-workshop.ts";
import { takeSnapshot } from "./snapshot.ts";
import { TreeTooLarge } from "./tree-walk.ts";
import { removeTree } from "./worktree-files.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

export interface ClosePreviewDeps {
  readonly workshop: GitWorkshop;
  readonly clock: Clock;
  readonly gate: Gate;
}

type Preview = NonNullable<ClosePreview["worktree"]>;

/** A user waits for the preview. */
const withinMs = 10_000;
/** Enough for a work tree with its dependencies; the walk takes a second or two. */
const mostFiles = 200_000;
const nothing = { count: 0, bytes: 0 };

/**
 * Shows what a close would do to a worktree, by the same rules, without writing to the repository. Its processes may still be
 * running, so this is a snapshot. Null if the worktree does not exist.
 * @throws PosternError `rate_limited`
 */
export function createClosePreview({
  workshop,
  clock,
  gate,
}: ClosePreviewDeps): (record: WorktreeRecord) => Promise<Preview | null> {
  return async (record) => {
    const { path, branch, gitDir, state } = record;
    if (state === "removed" || state === "removing") return null;
    const shown = { path, branch, files: 0, ignored: nothing, complete: true };
    const obstacle = await obstacleTo(record);
    if (obstacle !== null) return { ...shown, keepsBecause: obstacle };
    if (gitDir === null) return null;
    return gate.run(async () => {
      const git = gitUntil(workshop.git, { clock, withinMs });
      try {
        return { ...shown, ...(await look({ git, workshop, record, gitDir })) };
      } catch (error) {
        if (git.isOver()) return { ...shown, complete: false, keepsBecause: null };
        // The same error would keep a close from removing the worktree.
        const why = messageOf(error)
          .replace(/\p{Cc}+/gu, " ")
          .trim();
        return { ...shown, complete: false, keepsBecause: `Its contents could not be backed up: ${why}` };
      }
    });
  };
}

interface Looking {
  readonly git: DeadlineGit;
  readonly workshop: GitWorkshop;
  readonly record: WorktreeRecord;
  readonly gitDir: string;
}

async function look(looking: Looking): Promise<Pick<Preview, "files" | "ignored" | "complete" | "keepsBecause">> {
  const { git, workshop, record, gitDir } = looking;
  const { path, commonDir, included } = record;
  const head = await commitOf(git, { gitDir, commonDir }, "HEAD");
  const scratchFolder = workshop.scratchFolder();
  try {
    const request = { git, scratchFolder, path, commonDir, gitDir, head, included, listOnly: true, mostFiles } as const;
    const taken = await takeSnapshot(request).catch((error: unknown) => {
      if (error instanceof TreeTooLarge) return null;
      throw error;
    });
    if (taken?.kind === "kept") return { files: 0, ignored: nothing, complete: true, keepsBecause: taken.reason };
    const files = await changedCount(looking, head);
    const ignored = taken === null ? nothing : { count: taken.ignored.count, bytes: taken.ignored.bytes };
    return { files, ignored, complete: taken !== null, keepsBecause: null };
  } finally {
    await removeTree(scratchFolder);
  }
}

/** Files that differ from the commit. Files copied by `.worktreeinclude` are never rescued. */
async function changedCount({ git, workshop, record, gitDir }: Looking, head: string | null): Promise<number> {
  const { commonDir, path, included } = record;
  const scratch = await createGitScratch(git, { commonDir, folder: workshop.scratchFolder() });
  try {
    const own = ownObjects(git, commonDir);
    const at = { ...scratch.at(path), objectDir: join(scratch.folder, "objects") };
    const base = head ?? (await own.emptyTree(at));
    const brought = new Set(included);
    const differing = await differingInWorkTree(own, at, { base, head, gitDir });
    return differing.filter(({ name, untracked }) => !(untracked && brought.has(name))).length;
  } finally {
    await scratch.close();
  }
}
