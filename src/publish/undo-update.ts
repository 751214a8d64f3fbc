import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { commitOf } from "./base-branch.ts";
import type { Checkout } from "./repository.ts";
import { forgetUpdate, type RunningUpdate, removeLocks } from "./running-update.ts";
import { literalPaths, longMs, type UserGit } from "./user-git.ts";

const ownState = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "REBASE_HEAD"];

/**
 * Returns a checkout to its state before an update that was killed. The discarded state stays in the repository, below
 * `refs/postern/undone/`; untracked files stay, unless they are files that the update itself just wrote.
 */
export async function undoUpdate(git: UserGit, checkout: Checkout, update: RunningUpdate): Promise<void> {
  const { root, gitDir } = checkout;
  await removeLocks(checkout, update);
  await keep(git, root, await workOf(git, checkout));
  const tip = await commitOf(git, root, "HEAD");
  if (tip !== update.head) await keep(git, root, tip);
  for (const name of ownState) await rm(join(gitDir, name), { recursive: true, force: true });
  await git.must(["symbolic-ref", "HEAD", `refs/heads/${update.branch}`], { root });
  const onBranch = await commitOf(git, root, "HEAD");
  if (onBranch !== update.head) await keep(git, root, onBranch);
  await git.must(["reset", "--hard", "--quiet", update.head], { root, timeoutMs: longMs });
  await removeWritten(git, root, update);
  await forgetUpdate(checkout);
}

/** The changes to tracked files as a commit; null if there are none. `git stash create` fails while a file has a conflict. */
async function workOf(git: UserGit, { root, gitDir }: Checkout): Promise<string | null> {
  const stash = await git.run(["stash", "create"], { root });
  if (stash.exitCode === 0) return stash.stdout.toString("utf8").trim();
  const index = join(gitDir, "postern-undo-index");
  const own = { root, env: { GIT_INDEX_FILE: index }, timeoutMs: longMs };
  try {
    await copyFile(join(gitDir, "index"), index);
    await git.must(["add", "--update"], own);
    const tree = (await git.must(["write-tree"], own)).toString("utf8").trim();
    const words = ["commit-tree", "-p", "HEAD", "-m", "Work that an undone update gave up", tree];
    return (await git.must(words, { root })).toString("utf8").trim();
  } finally {
    await rm(index, { force: true });
  }
}

async function keep(git: UserGit, root: string, commit: string | null): Promise<void> {
  if (commit === null || commit === "") return;
  await git.must(["update-ref", `refs/postern/undone/${commit}`, commit], { root });
}

/** Paths are at most 4,096 bytes, and arguments together 2 MB. */
const pathsAtOnce = 200;

/** Files that only the other side has, if they are untracked here with exactly its content. */
async function removeWritten(git: UserGit, root: string, { head, onto }: RunningUpdate): Promise<void> {
  const list = async (...args: readonly string[]) =>
    (await git.must(args, { root, env: literalPaths }))
      .toString("utf8")
      .split("\0")
      .filter((path) => path !== "");
  const added = await list("diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", head, onto);
  for (let from = 0; from < added.length; from += pathsAtOnce) {
    const paths = added.slice(from, from + pathsAtOnce);
    // Only these paths: there can be a million ignored files.
    for (const path of await list("ls-files", "--others", "-z", "--", ...paths)) {
      const theirs = await git.lineOf(["rev-parse", "--verify", "--quiet", `${onto}:${path}`], { root });
      const here = await git.lineOf(["hash-object", "--", path], { root });
      if (theirs !== null && here === theirs) await rm(join(root, path), { force: true });
    }
  }
}
