import { rm } from "node:fs/promises";
import { join } from "node:path";
import { commitOf } from "./base-branch.ts";
import type { Checkout } from "./repository.ts";
import { forgetUpdate, type RunningUpdate, removeLocks } from "./running-update.ts";
import { longMs, type UserGit } from "./user-git.ts";

const ownState = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "REBASE_HEAD"];

/**
 * Brings a checkout back to where it was before an update that was killed. What is given up stays in the repository, below
 * `refs/postern/undone/`; untracked files stay, unless they are files that the update itself just wrote.
 */
export async function undoUpdate(git: UserGit, checkout: Checkout, update: RunningUpdate): Promise<void> {
  const { root, gitDir } = checkout;
  await removeLocks(checkout, update);
  await keep(git, root, await git.lineOf(["stash", "create"], { root }));
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

async function keep(git: UserGit, root: string, commit: string | null): Promise<void> {
  if (commit === null || commit === "") return;
  await git.must(["update-ref", `refs/postern/undone/${commit}`, commit], { root });
}

/** Files that only the other side has, if they are untracked here with exactly its content. */
async function removeWritten(git: UserGit, root: string, { head, onto }: RunningUpdate): Promise<void> {
  const list = async (...args: readonly string[]) =>
    (await git.must(args, { root }))
      .toString("utf8")
      .split("\0")
      .filter((path) => path !== "");
  const added = new Set(await list("diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", head, onto));
  const untracked = added.size === 0 ? [] : await list("ls-files", "--others", "-z");
  for (const path of untracked.filter((one) => added.has(one))) {
    const theirs = await git.lineOf(["rev-parse", "--verify", "--quiet", `${onto}:${path}`], { root });
    const here = await git.lineOf(["hash-object", "--", path], { root });
    if (theirs !== null && here === theirs) await rm(join(root, path), { force: true });
  }
}
