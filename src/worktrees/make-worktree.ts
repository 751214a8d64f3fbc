import { mkdir } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { isErrno, isPosternError, messageOf, type PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { GitError } from "../platform/git-command.ts";
import { findRepository, type RepositoryPlace } from "../platform/git-repository.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import {
  baseCommitOf,
  branchCommit,
  branchExists,
  checkedOutElsewhere,
  isCheckedOut,
  requireBranchName,
  requireFreePath,
  requireNewBranch,
  worktreeExists,
  worktreePathOf,
} from "./branch-rules.ts";
import { copyIncluded, type IncludeRequest, listIncluded } from "./include-files.ts";
import { type NewWorktree, type WorktreeDeps, worktreeError } from "./worktree-deps.ts";
import {
  checkOut,
  folderWithin,
  type HeldRepository,
  inodeOf,
  isSameFolder,
  makeFolder,
  registerWorktree,
  removeGitDir,
  removeOwnFolder,
  replaced,
} from "./worktree-files.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/** The directories that the folder rule must allow for a worktree of the repository that contains `dir`. */
export function countedDirs(place: RepositoryPlace, dir: string): readonly string[] {
  const { root, commonDir } = place;
  const counted = join(root, subFolderOf(place, dir));
  // A `.git` file can point anywhere.
  return commonDir === root || commonDir.startsWith(`${root}/`) ? [counted] : [counted, commonDir];
}

function subFolderOf({ checkout }: RepositoryPlace, dir: string): string {
  return checkout === null ? "" : relative(checkout.root, dir);
}

/** The repository of a directory. @throws PosternError `not_a_git_repository` */
export async function requireRepository(dir: string): Promise<RepositoryPlace> {
  const place = await findRepository(dir);
  if (place !== null) return place;
  throw worktreeError(
    "not_a_git_repository",
    `${dir} is not in a git repository. Leave "worktree" out, or choose another directory.`,
  );
}

/**
 * Makes a worktree, and records each step before or with it. A failure is undone immediately, a crash by
 * {@link undoCreation} at the next start.
 */
export async function makeWorktree(
  deps: WorktreeDeps,
  place: RepositoryPlace,
  { sessionId, dir, baseBranch, branch, held }: NewWorktree & { readonly held: HeldRepository },
): Promise<WorktreeRecord> {
  const { git, store, clock } = deps;
  const { root, commonDir } = place;
  await withNameRules(deps, held.place, branch);
  const baseCommit = await baseCommitOf(git, held.place, baseBranch);
  await requireNewBranch(git, held.place.commonDir, branch);
  const path = worktreePathOf(root, branch);
  const at = { commonDir: held.place.commonDir, path: join(held.parent, basename(path)) };
  await requireFreePath(path);
  const include = await toInclude(deps, held.place, at.path);
  held.requireSame();
  const record: WorktreeRecord = {
    worktreeId: newUuid(),
    sessionId,
    state: "creating",
    repository: root,
    commonDir,
    path,
    subFolder: subFolderOf(place, dir),
    branch,
    baseBranch,
    baseCommit,
    gitDir: null,
    inode: null,
    included: include?.names ?? [],
    closing: null,
    rescueRef: null,
    rescueCommit: null,
    rescueBase: null,
    rescueFiles: null,
    rescuedAt: null,
    ignoredLost: null,
    createdAt: clock.now(),
  };
  if (!(await store.insert(record))) throw worktreeExists(path);
  const made = { record, branch: false };
  try {
    await deps.onStep("intent");
    held.requireSame();
    await makeBranch(deps, { ...record, ...at });
    made.branch = true;
    await deps.onStep("branch");
    held.requireSame();
    made.record = await fill(deps, record, { at, commit: baseCommit, onRecord: (now) => void (made.record = now) });
    held.requireSame();
    if ((await folderWithin(path, record.subFolder)) === null) {
      throw worktreeError("dir_not_found", `${baseBranch} has no directory ${record.subFolder}.`);
    }
    const included = include === null ? [] : await copyIncluded(include.request, include.names);
    await deps.onStep("included");
    held.requireSame();
    if (!isSameFolder(await inodeOf(path), made.record.inode)) throw replaced(path);
    return await store.update(made.record, { state: "ready", included });
  } catch (error) {
    await undoCreation(deps, made.record, { branch: made.branch, at });
    throw explained(error, path, held.named);
  }
}

/** Checks the branch name in our own git dir, where `@{-1}` does not resolve. */
async function withNameRules(deps: WorktreeDeps, { commonDir }: RepositoryPlace, branch: string): Promise<void> {
  const folder = deps.scratchFolder();
  const scratch = await createGitScratch(deps.git, { commonDir, folder });
  try {
    await requireBranchName(deps.git, { gitDir: scratch.folder }, branch);
  } finally {
    await scratch.close();
  }
}

async function toInclude(deps: WorktreeDeps, { checkout, commonDir }: RepositoryPlace, target: string) {
  if (checkout === null) return null;
  const request: IncludeRequest = {
    git: deps.git,
    source: checkout,
    commonDir,
    target,
    scratchFolder: deps.scratchFolder(),
  };
  return { request, names: await listIncluded(request) };
}

async function makeBranch({ git }: WorktreeDeps, { commonDir, branch, baseCommit }: WorktreeRecord): Promise<void> {
  const none = "0".repeat(baseCommit.length);
  const args = ["update-ref", "-m", "postern: worktree", "--create-reflog", `refs/heads/${branch}`, baseCommit, none];
  const made = await git.run(args, { at: { gitDir: commonDir } });
  if (made.exitCode === 0) return;
  if (/exists|cannot lock ref/i.test(made.stderr) && !/No space|Permission denied/i.test(made.stderr)) {
    throw branchExists(branch);
  }
  throw new GitError(args, made);
}

/** Paths for git and file access: the record's own, or paths to open handles. */
interface MadeAt {
  readonly commonDir: string;
  readonly path: string;
}

/** Makes the folder, git's entry and the files, for a new and for a recreated worktree. */
async function fill(
  deps: WorktreeDeps,
  record: WorktreeRecord,
  {
    at,
    commit,
    onRecord,
  }: { readonly at: MadeAt; readonly commit: string; readonly onRecord: (record: WorktreeRecord) => void },
): Promise<WorktreeRecord> {
  const { git, store } = deps;
  const inode = await makeFolder(at.path);
  await deps.onStep("folder");
  let now = await store.update(record, { inode });
  onRecord(now);
  const gitDir = await registerWorktree(git, now, at);
  await deps.onStep("registered");
  now = await store.update(now, { gitDir });
  onRecord(now);
  await checkOut(git, { ...at, gitDir: gitDirAt(at, gitDir), commit, scratchFolder: deps.scratchFolder() });
  await deps.onStep("checked out");
  return now;
}

function gitDirAt({ commonDir }: MadeAt, gitDir: string): string {
  return join(commonDir, "worktrees", basename(gitDir));
}

/** Removes a worktree in which no agent ever ran. */
export async function undoCreation(
  deps: WorktreeDeps,
  record: WorktreeRecord,
  { branch: hasBranch, at }: { readonly branch: boolean; readonly at: MadeAt } = { branch: true, at: record },
): Promise<void> {
  const { git, store, log } = deps;
  const { path, inode, gitDir, branch, baseCommit, worktreeId } = record;
  const { commonDir } = at;
  try {
    await removeOwnFolder(at.path, inode);
    await removeGitDir({ ...record, commonDir, gitDir: gitDir && gitDirAt(at, gitDir) });
    if (hasBranch && (await branchCommit(git, commonDir, branch)) === baseCommit) {
      await git.must(["update-ref", "-d", `refs/heads/${branch}`, baseCommit], { at: { gitDir: commonDir } });
    }
    await store.delete(worktreeId);
  } catch (error) {
    log.error({ path, error }, "cannot undo the creation of a worktree; trying again at the next start");
  }
}

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
  const include = await toInclude(deps, await requireRepository(repository), path).catch((error: unknown) => {
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
    const included = include === null ? [] : await copyIncluded(include.request, include.names);
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

/** Another worktree may now use the path; the store has at most one for each. */
async function taking(path: string, update: Promise<WorktreeRecord>): Promise<WorktreeRecord> {
  try {
    return await update;
  } catch (error) {
    throw worktreeExists(path, error);
  }
}

function explained(error: unknown, path: string, named = (text: string): string => text): unknown {
  if (isPosternError(error)) return error;
  if (isErrno(error, "EEXIST")) return worktreeExists(path, error);
  return failed(`Cannot create the worktree ${path}: ${named(messageOf(error))}. Everything was rolled back.`, error);
}

function failed(message: string, cause: unknown): PosternError {
  return worktreeError("worktree_failed", message, { cause });
}
