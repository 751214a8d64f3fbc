import { basename, dirname, join, relative } from "node:path";
import { hasCode, isErrno, isPosternError, messageOf, type PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { GitError } from "../platform/git-command.ts";
import { findRepository, type RepositoryPlace } from "../platform/git-repository.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import {
  baseCommitOf,
  branchCommit,
  branchExists,
  defaultBase,
  requireBranchName,
  requireNewBranch,
  worktreeExists,
} from "./branch-rules.ts";
import { copyIncluded, listIncluded } from "./include-files.ts";
import { suggestBranch } from "./suggested-branch.ts";
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
import { foldedName, foldedNamesIn, worktreeNames } from "./worktree-names.ts";
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
    `${dir} is not in a git repository. Omit "worktree", or choose another directory.`,
  );
}

/** A worktree to make, except for its place. */
interface Plan {
  readonly held: HeldRepository;
  readonly record: Omit<WorktreeRecord, "worktreeId" | "path">;
  readonly include: Awaited<ReturnType<typeof toInclude>>;
}

/**
 * Makes a worktree at the first of its possible paths that is free, and records each step before or while it happens. A failure is undone
 * immediately, a crash by {@link undoCreation} at the next start.
 */
export async function makeWorktree(
  deps: WorktreeDeps,
  place: RepositoryPlace,
  { held, ...wanted }: NewWorktree & { readonly held: HeldRepository },
): Promise<WorktreeRecord> {
  const { git, clock } = deps;
  const { commonDir } = held.place;
  const { prompt = "", branchPrefix: prefix = null } = wanted;
  const branch = wanted.branch ?? (await suggestBranch(git, commonDir, { prompt, prefix }));
  await withNameRules(deps, held.place, branch);
  const baseBranch = wanted.baseBranch ?? (await defaultBase(git, held.place));
  const baseCommit = wanted.baseCommit ?? (await baseCommitOf(git, held.place, baseBranch));
  await requireNewBranch(git, commonDir, branch);
  const paths = await freePaths(deps, place, { branch, parent: held.parent });
  const include = await toInclude(deps, held.place);
  const record: Plan["record"] = {
    sessionId: wanted.sessionId,
    state: "creating",
    repository: place.root,
    commonDir: place.commonDir,
    subFolder: subFolderOf(place, wanted.dir),
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
  for (const path of paths) {
    try {
      return await makeAt(deps, path, { held, record, include });
    } catch (error) {
      if (!hasCode(error, "worktree_exists")) throw error; // taken in the meantime, from another repository or by another program
    }
  }
  throw worktreeError(
    "worktree_exists",
    `All directory names for a worktree with the branch ${branch} next to ${place.root} are taken. Choose another "branch".`,
  );
}

/** Paths next to the repository, in order of preference. They are unused, and no session of another branch can return to them. */
async function freePaths(
  { store, worktreeNameFor }: WorktreeDeps,
  { root, commonDir }: RepositoryPlace,
  { branch, parent }: { readonly branch: string; readonly parent: string },
): Promise<readonly string[]> {
  const beside = dirname(root);
  const names = worktreeNames(await worktreeNameFor(root), { repository: root, branch });
  const present = await foldedNamesIn(parent);
  const others = (await store.at(names.map((name) => join(beside, name)))).filter(
    (record) => record.state !== "removed" || record.commonDir !== commonDir || record.branch !== branch,
  );
  const taken = new Set([...present, ...others.map(({ path }) => foldedName(basename(path)))]);
  return names.filter((name) => !taken.has(foldedName(name))).map((name) => join(beside, name));
}

async function makeAt(
  deps: WorktreeDeps,
  path: string,
  { held, record: planned, include }: Plan,
): Promise<WorktreeRecord> {
  const { store } = deps;
  const at = { commonDir: held.place.commonDir, path: join(held.parent, basename(path)) };
  held.requireSame();
  const record: WorktreeRecord = { ...planned, worktreeId: newUuid(), path };
  if (!(await store.insert(record))) throw worktreeExists(path);
  const made = { record, branch: false };
  try {
    await deps.onStep("intent");
    held.requireSame();
    await makeBranch(deps, { ...record, ...at });
    made.branch = true;
    await deps.onStep("branch");
    held.requireSame();
    const { baseCommit: commit, baseBranch, subFolder } = record;
    made.record = await fill(deps, record, { at, commit, onRecord: (now) => void (made.record = now) });
    held.requireSame();
    if ((await folderWithin(path, subFolder)) === null) {
      throw worktreeError("dir_not_found", `${baseBranch} has no directory ${subFolder}.`);
    }
    const included = include === null ? [] : await copyIncluded(include, at.path);
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

export async function toInclude(deps: WorktreeDeps, { checkout, commonDir }: RepositoryPlace) {
  if (checkout === null) return null;
  const request = { git: deps.git, source: checkout, commonDir, scratchFolder: deps.scratchFolder() };
  return { source: checkout.root, names: await listIncluded(request) };
}

async function makeBranch({ git }: WorktreeDeps, { commonDir, branch, baseCommit }: WorktreeRecord): Promise<void> {
  const none = "0".repeat(baseCommit.length);
  const args = ["update-ref", "-m", "postern: worktree", "--create-reflog", `refs/heads/${branch}`, baseCommit, none];
  const made = await git.run(args, { at: { gitDir: commonDir } });
  if (made.exitCode === 0) return;
  if (
    /exists|cannot lock ref/i.test(made.stderr) &&
    !/No space|Permission denied|File name too long/i.test(made.stderr)
  ) {
    throw branchExists(branch);
  }
  if (/File name too long/i.test(made.stderr)) {
    throw worktreeError(
      "invalid_request",
      `${JSON.stringify(branch)} is too long for a branch name. Choose a shorter "branch".`,
    );
  }
  throw new GitError(args, made);
}

/** Paths for git and file access: the record's own, or paths to open handles. */
interface MadeAt {
  readonly commonDir: string;
  readonly path: string;
}

/** Makes the folder, git's entry and the files, for a new and for a recreated worktree. */
export async function fill(
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

export function explained(error: unknown, path: string, named = (text: string): string => text): unknown {
  if (isPosternError(error)) return error;
  if (isErrno(error, "EEXIST")) return worktreeExists(path, error);
  return failed(`Cannot create the worktree ${path}: ${named(messageOf(error))}. Everything was rolled back.`, error);
}

function failed(message: string, cause: unknown): PosternError {
  return worktreeError("worktree_failed", message, { cause });
}
