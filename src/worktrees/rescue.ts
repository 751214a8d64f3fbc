import { join } from "node:path";
import type { GitPlace } from "../platform/git-command.ts";
import { readPointer } from "../platform/git-repository.ts";
import { branchCommit } from "./branch-rules.ts";
import { commitOf, durable, lineOf } from "./git-workshop.ts";
import { type NotTaken, type Snapshot, takeSnapshot } from "./snapshot.ts";
import type { WorktreeDeps } from "./worktree-deps.ts";
import { inodeOf, removeTree } from "./worktree-files.ts";
import type { IgnoredLost, WorktreePatch, WorktreeRecord } from "./worktree-store.ts";

/** The result of the rescue step, before a close removes the worktree. */
export interface Kept {
  readonly kind: "rescued";
  /** Changes to the worktree's record: the rescue if one was created, and the ignored files that are lost. */
  readonly patch: WorktreePatch & { readonly ignoredLost: IgnoredLost };
}

const identity = {
  GIT_AUTHOR_NAME: "Postern",
  GIT_AUTHOR_EMAIL: "postern@localhost",
  GIT_COMMITTER_NAME: "Postern",
  GIT_COMMITTER_EMAIL: "postern@localhost",
};

/** The ref under which a session's work is kept. */
export function rescueRefOf(sessionId: string): string {
  return `refs/postern/rescue/${sessionId.replace(/[^A-Za-z0-9-]/g, "-")}`;
}

/** Saves as a commit what the removal of a worktree would lose; with `discard`, only lists ignored files. */
export async function rescue(
  deps: WorktreeDeps,
  record: WorktreeRecord & { readonly gitDir: string },
  { discard }: { readonly discard: boolean },
): Promise<Kept | NotTaken> {
  const { git } = deps;
  const { commonDir, gitDir, path, included, branch } = record;
  const own = { gitDir, commonDir };
  const gone = (await inodeOf(path)) === null;
  // If git's entry is gone too, there is nothing left to save.
  const nothingLeft = gone && (await readPointer(join(gitDir, "HEAD"))) === null;
  const head = nothingLeft ? null : await commitOf(git, own, "HEAD");
  const scratchFolder = deps.scratchFolder();
  try {
    const snapshot = gone
      ? await emptySnapshot(deps, own, head)
      : await takeSnapshot({
          git,
          scratchFolder,
          path,
          commonDir,
          gitDir,
          head,
          included,
          listOnly: discard,
        });
    if (snapshot.kind === "kept") return snapshot;
    const { ignored, changed, stagedTree } = snapshot;
    const orphans = !discard && head !== null && (await isOnNoBranch(deps, own, head));
    if (discard || (changed.length === 0 && stagedTree === null && !orphans)) {
      return { kind: "rescued", patch: { ignoredLost: ignored } };
    }
    const commit = await commitRescue(deps, record, { snapshot, head });
    const base = (await branchCommit(git, commonDir, branch)) ?? head ?? null;
    return {
      kind: "rescued",
      patch: {
        ignoredLost: ignored,
        rescueRef: rescueRefOf(record.sessionId),
        rescueCommit: commit,
        rescueBase: base,
        rescueFiles: changed.length,
        rescuedAt: deps.clock.now(),
      },
    };
  } finally {
    await removeTree(scratchFolder);
  }
}

/** For a worktree whose files were removed: only its commits are left to save. */
async function emptySnapshot({ git }: WorktreeDeps, at: GitPlace, head: string | null): Promise<Snapshot> {
  const tree = head === null ? "" : lineOf(await git.must(["rev-parse", "--verify", `${head}^{tree}`], { at }));
  const ignored = { count: 0, bytes: 0, first20: [] };
  return { kind: "taken", tree, stagedTree: null, changed: [], ignored };
}

/** Whether HEAD is detached at commits that are on no branch, tag or remote branch. */
async function isOnNoBranch({ git }: WorktreeDeps, at: GitPlace, head: string): Promise<boolean> {
  const symbolic = await git.run(["symbolic-ref", "--quiet", "HEAD"], { at });
  if (symbolic.exitCode === 0 && lineOf(symbolic.stdout).startsWith("refs/heads/")) return false;
  const refs = ["refs/heads", "refs/tags", "refs/remotes"];
  const holding = await git.must(["for-each-ref", "--count=1", `--contains=${head}`, ...refs], {
    at: { gitDir: at.commonDir ?? at.gitDir },
  });
  return holding.length === 0;
}

/** An earlier rescue of the session, or of the session it continues, stays reachable as the last parent. */
async function commitRescue(
  { git }: WorktreeDeps,
  { commonDir, sessionId, path, branch, rescueCommit }: WorktreeRecord,
  { snapshot, head }: { readonly snapshot: Snapshot; readonly head: string | null },
): Promise<string> {
  const at = { gitDir: commonDir };
  const ref = rescueRefOf(sessionId);
  const own = await commitOf(git, at, ref);
  const earlier = own ?? (rescueCommit === null ? null : await commitOf(git, at, rescueCommit));
  const commit = async (tree: string, parents: readonly (string | null)[], message: string): Promise<string> => {
    const flags = parents.flatMap((parent) => (parent === null ? [] : ["-p", parent]));
    const args = [...durable, "commit-tree", "--no-gpg-sign", ...flags, "-m", message, tree];
    return lineOf(await git.must(args, { at, env: identity }));
  };
  if (own !== null && (await isSame({ git, at, earlier: own }, snapshot, head))) return own;
  const { stagedTree } = snapshot;
  const staged =
    stagedTree === null ? null : await commit(stagedTree, [head], `Staged in the worktree of session ${sessionId}`);
  const notes = [
    `Rescued from the worktree of session ${sessionId}`,
    `Worktree: ${path}\nBranch: ${branch}\nStaged: ${staged ?? "nothing else"}\nEarlier: ${earlier ?? "none"}`,
  ];
  const made = await commit(snapshot.tree, [head, staged, earlier], notes.join("\n\n"));
  await git.must([...durable, "update-ref", "-m", "postern: rescue", ref, made], { at });
  return made;
}

/** Whether the earlier rescue already has this content: after a crash, a close is repeated. */
async function isSame(
  { git, at, earlier }: { readonly git: WorktreeDeps["git"]; readonly at: GitPlace; readonly earlier: string },
  { tree, stagedTree }: Snapshot,
  head: string | null,
): Promise<boolean> {
  if (stagedTree !== null) return false;
  const first = await git.run(["rev-parse", "--verify", "--quiet", `${earlier}^1`], { at });
  const earlierTree = lineOf(await git.must(["rev-parse", "--verify", `${earlier}^{tree}`], { at }));
  return earlierTree === tree && (first.exitCode === 0 ? lineOf(first.stdout) : null) === head;
}
