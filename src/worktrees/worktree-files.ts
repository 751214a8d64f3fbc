import type { BigIntStats } from "node:fs";
import { chmod, lstat, mkdir, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isErrno, type PosternError } from "../core/errors.ts";
import type { Git } from "../platform/git-command.ts";
import { type RepositoryPlace, readPointer } from "../platform/git-repository.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import { type HeldFolder, holdFolder } from "../platform/held-folder.ts";
import { bytesOf } from "./tree-walk.ts";
import { worktreeError } from "./worktree-deps.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

// Long enough for a large repository on a slow disk.
const checkoutMs = 600_000;

const noFolder = "no folder";

/** The identity of the folder at a path, for {@link isSameFolder}; null if there is none. */
export async function inodeOf(path: string): Promise<string | null> {
  const stats = await statsOf(path);
  if (stats === null) return null;
  return stats.isDirectory() ? `${stats.ino}:d${stats.dev}:b${stats.birthtimeNs}` : noFolder;
}

async function statsOf(path: string): Promise<BigIntStats | null> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

/** Whether the current folder ({@link inodeOf}) is the one that Postern created ({@link makeFolder}), not a later one in its place. */
export function isSameFolder(present: string | null, made: string | null): boolean {
  if (present === null || present === noFolder || made === null) return false;
  const parts = new Set(present.split(":"));
  return made.split(":").every((part) => parts.has(part));
}

/**
 * Makes the folder of a worktree, which must not exist.
 * @returns its identity. Inodes are soon reused, so it includes the birth time, or if the system reports none
 *   the device, whose number can change after a restart
 * @throws the operating system's error
 */
export async function makeFolder(path: string): Promise<string> {
  await mkdir(path);
  const stats = await statsOf(path);
  if (stats === null) return "";
  const parent = await statsOf(dirname(path));
  // If birth times are unknown, Node reports 0 or the last change. The parent has just changed, so its two times would then be equal.
  const isBorn = stats.birthtimeNs > 0n && parent !== null && parent.birthtimeNs !== parent.ctimeNs;
  return isBorn ? `${stats.ino}:b${stats.birthtimeNs}` : `${stats.ino}:d${stats.dev}`;
}

/**
 * Makes the folder a worktree of the repository with the branch checked out.
 *
 * @param at paths to the record's repository and folder
 * @returns its git dir
 */
export async function registerWorktree(
  git: Git,
  { commonDir, path, branch }: WorktreeRecord,
  at: { readonly commonDir: string; readonly path: string },
): Promise<string> {
  await git.must(["worktree", "add", "--no-checkout", "--", at.path, branch], { at: { gitDir: at.commonDir } });
  const made = await gitDirOf(at.commonDir, path);
  const gitDir = made === null ? null : join(commonDir, "worktrees", basename(made));
  const pointer = await readPointer(join(at.path, ".git"));
  // Git writes resolved paths into these files, so they show whether another repository is now at the path.
  if (gitDir === null || pointer === null || resolve(path, pointer.replace(/^gitdir: /, "")) !== gitDir) {
    throw new Error("git created no worktree, or the repository was replaced.");
  }
  return gitDir;
}

/** The repository's git dir for the worktree at this path, looked up in the repository, not through the worktree's `.git`. */
export async function gitDirOf(commonDir: string, path: string): Promise<string | null> {
  const folder = join(commonDir, "worktrees");
  for (const name of await namesIn(folder)) {
    const gitDir = join(folder, name);
    if ((await readPointer(join(gitDir, "gitdir"))) === join(path, ".git")) return gitDir;
  }
  return null;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** Writes a commit's files into a worktree, and its index. Runs no filters: Git LFS files stay pointers. */
export async function checkOut(
  git: Git,
  { commonDir, gitDir, path, commit, scratchFolder }: CheckOutRequest,
): Promise<void> {
  const scratch = await createGitScratch(git, { commonDir, folder: scratchFolder });
  try {
    const at = { ...scratch.at(path), indexFile: join(gitDir, "index") };
    await git.must(["read-tree", "--reset", "-u", commit], { at, timeoutMs: checkoutMs });
  } finally {
    await scratch.close();
  }
}

export interface CheckOutRequest {
  readonly commonDir: string;
  readonly gitDir: string;
  readonly path: string;
  readonly commit: string;
  readonly scratchFolder: string;
}

/** The real path of a folder inside a worktree; null if there is none, or a link leads out. */
export async function folderWithin(path: string, subFolder: string): Promise<string | null> {
  if (subFolder === "") return path;
  try {
    const real = await realpath(join(path, subFolder));
    return real.startsWith(`${path}/`) && (await lstat(real)).isDirectory() ? real : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES")) return null;
    throw error;
  }
}

/** Why a worktree is locked; null if it is not. */
export async function lockReason(gitDir: string): Promise<string | null> {
  const path = join(gitDir, "locked");
  const reason = await readPointer(path);
  if (reason !== null) return reason.trim().slice(0, 200);
  return (await statsOf(path)) === null ? null : ""; // git checks only that the file exists
}

/** Removes a folder with its content, including read-only folders such as module caches. Follows no link. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!isErrno(error, "EACCES", "EPERM", "ENOTEMPTY")) throw error;
    await openFolders(path, "");
    await rm(path, { recursive: true, force: true });
  }
}

async function openFolders(root: string, name: string): Promise<void> {
  await chmod(bytesOf(root, name), 0o700);
  for (const entry of await readdir(bytesOf(root, name), { withFileTypes: true, encoding: "buffer" })) {
    const base = entry.name.toString("latin1");
    if (entry.isDirectory()) await openFolders(root, name === "" ? base : `${name}/${base}`);
  }
}

/** Removes a folder if it is the one that Postern created, or if it is empty. */
export async function removeOwnFolder(path: string, made: string | null): Promise<void> {
  const present = await inodeOf(path);
  if (present === null) return;
  if (isSameFolder(present, made)) return removeTree(path);
  try {
    await rmdir(path);
  } catch (error) {
    if (!isErrno(error, "ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT")) throw error; // not ours: it stays
  }
}

/** Removes a worktree from the repository's list. */
export async function removeGitDir({ commonDir, path, gitDir }: WorktreeRecord): Promise<void> {
  const known = gitDir ?? (await gitDirOf(commonDir, path));
  if (known === null || dirname(known) !== join(commonDir, "worktrees")) return;
  await removeTree(known);
}

/** Open handles of a repository's folders: the folder rule allows paths, which a link to another repository can replace at any time. */
export interface HeldRepository {
  /** The repository, with paths to the open handles. */
  readonly place: RepositoryPlace;
  /** The parent folder of worktrees, as such a path. */
  readonly parent: string;
  /** @throws PosternError `dir_not_allowed` when a path leads elsewhere by now */
  requireSame(): void;
  /** Replaces those paths in git's output with the repository's own. */
  named(text: string): string;
  close(): void;
}

/** @throws PosternError `dir_not_allowed` when a path leads elsewhere by now */
export function holdRepository({ root, commonDir, checkout }: RepositoryPlace): HeldRepository {
  const held = new Map<string, HeldFolder>();
  const hold = (path: string): string => {
    const folder = held.get(path) ?? holdOrNull(path);
    if (folder === null) throw replaced(path);
    held.set(path, folder);
    return folder.path;
  };
  const close = (): void => {
    for (const folder of held.values()) folder.close();
  };
  try {
    const parent = hold(dirname(root));
    const place = {
      root: hold(root),
      commonDir: hold(commonDir),
      checkout: checkout && { root: hold(checkout.root), gitDir: hold(checkout.gitDir) },
    };
    return {
      place,
      parent,
      requireSame() {
        for (const [path, folder] of held) if (!folder.isSame()) throw replaced(path);
      },
      named: (text) => [...held].reduce((now, [path, folder]) => now.replaceAll(`${folder.path}/`, `${path}/`), text),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function holdOrNull(path: string): HeldFolder | null {
  try {
    return holdFolder(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return null;
    throw error;
  }
}

export function replaced(path: string): PosternError {
  return worktreeError("dir_not_allowed", `${path} changed during the check: it, or a folder above it, was replaced.`);
}
