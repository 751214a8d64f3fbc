import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno } from "../core/errors.ts";

/**
 * The work tree that holds `dir` (an absolute real path): the nearest folder upwards with a `.git` entry, or null. Runs no git, so that
 * no repository's configuration is read.
 */
export async function findRepositoryRoot(dir: string): Promise<string | null> {
  for (let folder = dir; ; folder = dirname(folder)) {
    if (await exists(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return null;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return false;
    throw error;
  }
}
