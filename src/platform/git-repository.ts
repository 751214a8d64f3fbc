import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isErrno } from "../core/errors.ts";
import { readSmallFile } from "./regular-file.ts";

/** Where a repository is; all real paths. */
export interface RepositoryPlace {
  /** The main checkout, or the bare repository: new worktrees are next to it. */
  readonly root: string;
  /** Its git dir, shared by all its worktrees. */
  readonly commonDir: string;
  /** The checkout that contains the directory: the main one or a linked worktree; null in a bare repository. */
  readonly checkout: { readonly root: string; readonly gitDir: string } | null;
}

// A pointer to a git dir is one line with a path.
const maxPointerBytes = 8 * 1024;

/**
 * The repository that holds `dir` (a real path); null when none does. Does not run Git, so nothing that the repository configures runs. A
 * linked worktree counts only when its repository points back to it.
 */
export async function findRepository(dir: string): Promise<RepositoryPlace | null> {
  const root = await findRepositoryRoot(dir);
  if (root === null) return findBare(dir);
  const dotGit = join(root, ".git");
  const stats = await lstat(dotGit);
  const gitDir = stats.isDirectory() ? dotGit : await pointedGitDir(root);
  if (gitDir === null || !(await isGitDir(gitDir))) return null;
  const linked = await readPointer(join(gitDir, "commondir"));
  if (linked === null) return { root, commonDir: gitDir, checkout: { root, gitDir } };
  const commonDir = await realOrNull(resolve(gitDir, linked));
  const backlink = await readPointer(join(gitDir, "gitdir"));
  const pointsBack = backlink !== null && (await realOrNull(resolve(gitDir, backlink))) === (await realOrNull(dotGit));
  if (commonDir === null || !pointsBack || dirname(dirname(gitDir)) !== commonDir) return null;
  return { root: mainRootOf(commonDir), commonDir, checkout: { root, gitDir } };
}

/** The git dir of a main checkout is `.git`; others are bare repositories or separate git dirs. */
function mainRootOf(commonDir: string): string {
  return basename(commonDir) === ".git" ? dirname(commonDir) : commonDir;
}

async function findBare(dir: string): Promise<RepositoryPlace | null> {
  for (let folder = dir; folder !== dirname(folder); folder = dirname(folder)) {
    if (await isGitDir(folder)) return { root: folder, commonDir: folder, checkout: null };
  }
  return null;
}

async function isGitDir(folder: string): Promise<boolean> {
  const head = await readPointer(join(folder, "HEAD"));
  if (head === null || !/^(ref: |[0-9a-f]{40})/.test(head)) return false;
  if ((await readPointer(join(folder, "commondir"))) !== null) return true;
  return (await isDirectory(join(folder, "objects"))) && (await isDirectory(join(folder, "refs")));
}

async function pointedGitDir(root: string): Promise<string | null> {
  const text = await readPointer(join(root, ".git"));
  const target = text === null ? undefined : /^gitdir: (.+)$/s.exec(text)?.[1];
  return target === undefined ? null : realOrNull(resolve(root, target));
}

/** A small file's text without the final newline; null when it is missing or too large. */
export async function readPointer(path: string): Promise<string | null> {
  const bytes = await readSmallFile(path, maxPointerBytes);
  return bytes === null || bytes === "too_large" ? null : bytes.toString("utf8").replace(/\n+$/, "");
}

async function realOrNull(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return null;
    throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isDirectory() ?? false;
}

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  }
}

/** The work tree that holds `dir` (a real path): the nearest folder upwards with a `.git` entry, or null. */
export async function findRepositoryRoot(dir: string): Promise<string | null> {
  for (let folder = dir; ; folder = dirname(folder)) {
    if ((await statOrNull(join(folder, ".git"))) !== null) return folder;
    if (folder === dirname(folder)) return null;
  }
}
