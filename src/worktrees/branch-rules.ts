import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { Git, GitPlace } from "../platform/git-command.ts";
import { type RepositoryPlace, readPointer } from "../platform/git-repository.ts";
import { commitOf } from "./git-workshop.ts";
import { worktreeError } from "./worktree-deps.ts";

const commitId = /^[0-9a-f]{7,64}$/;

/** @throws PosternError `invalid_request` for a name that git rejects, or that could be read as an option */
export async function requireBranchName(git: Git, at: GitPlace, branch: string): Promise<void> {
  // `@` is short for HEAD: git accepts it here, but rejects it as the name of a new branch.
  const plain = branch !== "@" && !branch.startsWith("-") && !branch.includes("\0") && branch.isWellFormed();
  // With `--branch` git also resolves `@{-1}`, so the name must come back unchanged.
  const { exitCode, stdout } = plain
    ? await git.run(["check-ref-format", "--branch", branch], { at })
    : { exitCode: 1, stdout: Buffer.alloc(0) };
  if (exitCode === 0 && stdout.toString("utf8") === `${branch}\n`) return;
  throw worktreeError(
    "invalid_request",
    `${JSON.stringify(branch)} is not a valid branch name. Choose another "branch".`,
  );
}

/**
 * The default base of a worktree: the remote's default branch, or the local branch of the same name if it exists; without a remote, `main`,
 * then `master`, then the main checkout's branch.
 */
export async function defaultBase(git: Git, { commonDir }: RepositoryPlace): Promise<string> {
  const at = { gitDir: commonDir };
  const prefix = "refs/remotes/origin/";
  const { stdout } = await git.run(["symbolic-ref", "--quiet", `${prefix}HEAD`], { at });
  const target = stdout.toString("utf8").trim();
  const remote = target.startsWith(prefix) ? target.slice(prefix.length) : null;
  for (const name of remote === null ? ["main", "master"] : [remote]) {
    if ((await branchCommit(git, commonDir, name)) !== null) return name;
  }
  if (remote !== null && (await commitOf(git, at, target)) !== null) return `origin/${remote}`;
  return (await branchAt(commonDir)) ?? "HEAD";
}

/** The branch that a git dir's checkout is on, which may have no commit; null for a detached `HEAD`. */
export async function branchAt(gitDir: string): Promise<string | null> {
  return /^ref: refs\/heads\/(.+)$/.exec((await readPointer(join(gitDir, "HEAD"))) ?? "")?.[1] ?? null;
}

/**
 * The commit of a base: a local branch, a remote branch, a tag, `HEAD` of the checkout, or a commit's id, in this order.
 * @throws PosternError `base_branch_not_found`
 */
export async function baseCommitOf(git: Git, { commonDir, checkout }: RepositoryPlace, base: string): Promise<string> {
  const at = { gitDir: commonDir };
  const places = ["refs/heads/", "refs/remotes/", "refs/tags/", ...(base.startsWith("refs/") ? [""] : [])];
  for (const place of places) {
    if ((await git.run(["check-ref-format", `${place}${base}`], { at })).exitCode !== 0) continue;
    const commit = await commitOf(git, at, `${place}${base}`);
    if (commit !== null) return commit;
  }
  const head = base === "HEAD" ? await commitOf(git, headPlace(commonDir, checkout), "HEAD") : null;
  const commit = head ?? (commitId.test(base) ? await commitOf(git, at, base) : null);
  if (commit !== null) return commit;
  throw worktreeError(
    "base_branch_not_found",
    `This repository has no branch, remote branch, tag or commit ${JSON.stringify(base)}. Choose another "baseBranch".`,
  );
}

function headPlace(commonDir: string, checkout: RepositoryPlace["checkout"]): GitPlace {
  return checkout === null || checkout.gitDir === commonDir
    ? { gitDir: commonDir }
    : { gitDir: checkout.gitDir, commonDir };
}

/** The commit of a local branch; null if there is none. */
export function branchCommit(git: Git, commonDir: string, branch: string): Promise<string | null> {
  return commitOf(git, { gitDir: commonDir }, `refs/heads/${branch}`);
}

/** Whether the branch is checked out anywhere. */
export async function isCheckedOut(git: Git, commonDir: string, branch: string): Promise<boolean> {
  const listed = await git.must(["worktree", "list", "--porcelain"], { at: { gitDir: commonDir } });
  return listed.toString("utf8").split("\n").includes(`branch refs/heads/${branch}`);
}

/** @throws PosternError `branch_exists` | `branch_checked_out` */
export async function requireNewBranch(git: Git, commonDir: string, branch: string): Promise<void> {
  if (await isCheckedOut(git, commonDir, branch)) throw checkedOutElsewhere(branch);
  const { exitCode } = await git.run(["show-ref", "--verify", "--quiet", `refs/heads/${branch}`], {
    at: { gitDir: commonDir },
  });
  if (exitCode === 0) throw branchExists(branch);
}

export function branchExists(branch: string) {
  return worktreeError(
    "branch_exists",
    `The branch ${branch}, or one whose name collides with it, already exists. Choose another "branch".`,
  );
}

export function checkedOutElsewhere(branch: string) {
  return worktreeError(
    "branch_checked_out",
    `The branch ${branch} is checked out elsewhere. Choose another "branch", or switch branches there first.`,
  );
}

/** @throws PosternError `worktree_exists` if the path exists */
export async function requireFreePath(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return;
    if (isErrno(error, "ENOTDIR")) throw worktreeExists(path, error);
    throw error;
  }
  throw worktreeExists(path);
}

export function worktreeExists(path: string, cause?: unknown) {
  return worktreeError(
    "worktree_exists",
    `${path} already exists, and the worktree would be created there. Move that directory, then try again.`,
    { cause },
  );
}
