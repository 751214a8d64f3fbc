import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { Git } from "../platform/git-command.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import { ignoredOf, splitAtNul } from "./git-workshop.ts";
import { bytesOf, type TreeName } from "./tree-walk.ts";
import { worktreeError } from "./worktree-deps.ts";

/** The file in a checkout with gitignore patterns for the ignored files to copy to a new worktree. */
export const includeFile = ".worktreeinclude";

// For configuration and keys, not dependencies, which the agent installs.
const maxFiles = 1_000;
const maxBytes = 100 * 1024 * 1024;
const maxRulesBytes = 64 * 1024;
const chunkBytes = 256 * 1024;

/** Where the files come from. */
export interface IncludeRequest {
  readonly git: Git;
  /** The checkout that the worktree is made from. */
  readonly source: { readonly root: string; readonly gitDir: string };
  readonly commonDir: string;
  /** A scratch folder to create; it must not exist. */
  readonly scratchFolder: string;
}

interface Included {
  readonly name: TreeName;
  readonly sizeBytes: number;
}

/** Which files {@link copyIncluded} would copy. @throws PosternError `too_large` beyond 1,000 files or 100 MB */
export async function listIncluded(request: IncludeRequest): Promise<readonly TreeName[]> {
  const { git, source, commonDir, scratchFolder } = request;
  const rules = join(source.root, includeFile);
  if (!(await isSmallFile(rules))) return [];
  const scratch = await createGitScratch(git, { commonDir, folder: scratchFolder });
  const own = scratch.at(source.root);
  const index = { gitDir: source.gitDir, commonDir, workTree: source.root };
  try {
    const args = ["ls-files", "-z", "--others", "--ignored", `--exclude-from=${rules}`];
    const listed = await git.run(args, { at: index });
    if (listed.exitCode === null) throw tooLarge();
    const named = splitAtNul(listed.stdout).filter((name) => !name.endsWith("/"));
    if (named.length === 0) return [];
    const found: Included[] = [];
    for (const name of await ignoredOf(git, own, named)) {
      const sizeBytes = await sizeOfPlain(source.root, name);
      if (sizeBytes !== null) found.push({ name, sizeBytes });
    }
    const totalBytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (found.length > maxFiles || totalBytes > maxBytes) throw tooLarge();
    return found.map(({ name }) => name);
  } finally {
    await scratch.close();
  }
}

/** Copies files to a new worktree, never through a link and never over an existing file. @returns the copied files */
export async function copyIncluded(
  { source, names }: { readonly source: string; readonly names: readonly TreeName[] },
  target: string,
): Promise<readonly TreeName[]> {
  const copied: TreeName[] = [];
  let leftBytes = maxBytes;
  for (const name of names) {
    if ((await sizeOfPlain(source, name)) === null || !(await makeParents(target, name))) continue;
    const size = await copyNew(bytesOf(source, name), bytesOf(target, name), leftBytes);
    if (size === null) continue;
    leftBytes -= size;
    copied.push(name);
  }
  return copied;
}

function tooLarge() {
  return worktreeError(
    "too_large",
    `${includeFile} matches more than ${maxFiles} ignored files, or more than 100 MB. Narrow its patterns.`,
  );
}

async function isSmallFile(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    return stats.isFile() && stats.size <= maxRulesBytes;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** The size of a regular file whose path contains no link; null for anything else. */
async function sizeOfPlain(root: string, name: TreeName): Promise<number | null> {
  const parts = name.split("/");
  if (parts.some((part) => part === ".." || part.toLowerCase() === ".git")) return null;
  for (let depth = 1; depth < parts.length; depth += 1) {
    if ((await kindOf(root, parts.slice(0, depth).join("/"))) !== "folder") return null;
  }
  const stats = await statsOf(root, name);
  return stats?.isFile() === true ? stats.size : null;
}

/** Makes the folders of a new file; false where something else is in the way. */
async function makeParents(root: string, name: TreeName): Promise<boolean> {
  const parts = name.split("/");
  for (let depth = 1; depth < parts.length; depth += 1) {
    const folder = parts.slice(0, depth).join("/");
    const kind = await kindOf(root, folder);
    if (kind === "other") return false;
    if (kind === "none") await mkdir(bytesOf(root, folder));
  }
  return (await kindOf(root, name)) === "none";
}

async function kindOf(root: string, name: TreeName): Promise<"none" | "folder" | "other"> {
  const stats = await statsOf(root, name);
  if (stats === null) return "none";
  return stats.isDirectory() ? "folder" : "other";
}

async function statsOf(root: string, name: TreeName) {
  try {
    return await lstat(bytesOf(root, name));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

/** @returns the bytes copied, or null if there was nothing to copy or the target exists */
async function copyNew(from: Buffer, to: Buffer, mostBytes: number): Promise<number | null> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await source.stat();
    if (!stats.isFile() || stats.size > mostBytes) return null;
    const target = await openNew(to, stats.mode & 0o777);
    if (target === null) return null;
    try {
      return await pour(source, target, mostBytes);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openNew(path: Buffer, mode: number): Promise<FileHandle | null> {
  try {
    const file = await open(path, "wx", mode);
    await file.chmod(mode); // regardless of the umask
    return file;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return null;
    throw error;
  }
}

async function pour(source: FileHandle, target: FileHandle, mostBytes: number): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes);
  let total = 0;
  while (total < mostBytes) {
    const { bytesRead } = await source.read(chunk, 0, Math.min(chunkBytes, mostBytes - total));
    if (bytesRead === 0) break;
    await target.writeFile(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return total;
}
