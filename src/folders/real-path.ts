import { readlink, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { FolderScope } from "../wire/access.ts";

/** A registered folder, by its real path. */
export interface RegisteredFolder {
  readonly path: string;
  readonly scopes: readonly FolderScope[];
}

/** The input of the rule: the required scope, and the folders that the caller's token is limited to (null: no limit). */
export interface Rule {
  readonly scope: FolderScope;
  readonly within: readonly string[] | null;
}

/**
 * The specification's folder scope rule, on real paths. With no folder registered, any directory is allowed; else the innermost folder that
 * contains it decides. A limited caller is also confined to its own folders.
 *
 * @see the specification, "Folder scope rule"
 */
export function isAllowed(folders: readonly RegisteredFolder[], dir: string, rule: Rule): boolean {
  if (rule.within !== null && !rule.within.some((folder) => holds(folder, dir))) return false;
  return folders.length === 0 || innermost(folders, dir)?.scopes.includes(rule.scope) === true;
}

/** The registered folder nearest to `dir`. */
export function innermost<T extends RegisteredFolder>(folders: readonly T[], dir: string): T | null {
  let found: T | null = null;
  for (const folder of folders) {
    if (holds(folder.path, dir) && (found === null || folder.path.length > found.path.length)) found = folder;
  }
  return found;
}

/** Whether `dir` is `folder` or is in it, by component: `/a/bc` is not in `/a/b`. */
export function holds(folder: string, dir: string): boolean {
  return dir === folder || dir.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Maximum links followed in one path; the same as the kernel's. */
const maxLinks = 40;

/** Errors that make a path, or the rest of it, count as missing. */
const missing = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG"] as const;

/**
 * The target of an absolute path: resolves symlinks and `..` as the kernel does, one component at a time. Missing parts
 * keep their name, dangling links resolve to their target; stops after more links than the kernel follows.
 */
export async function resolvePath(path: string): Promise<{ readonly path: string; readonly exists: boolean }> {
  const existing = await realPathOf(path);
  if (existing !== null) return { path: existing, exists: true };
  return { path: await inRealCase(await followLinks(path)), exists: false };
}

async function realPathOf(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, ...missing)) return null;
    throw error;
  }
}

async function followLinks(path: string): Promise<string> {
  const ahead = parts(path).toReversed();
  let real = "/";
  let links = 0;
  for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
    const next = join(real, part); // `..` drops the last one: `real` has no links left
    const target = part === ".." ? null : await linkTarget(next);
    if (target === null) {
      real = next;
      continue;
    }
    if (links === maxLinks) return next;
    links += 1;
    if (target.startsWith("/")) real = "/";
    ahead.push(...parts(target).toReversed());
  }
  return real;
}

/** The same path with the names as stored, for a case-insensitive disk. */
async function inRealCase(path: string): Promise<string> {
  for (let prefix = path; prefix !== "/"; prefix = dirname(prefix)) {
    const real = await realPathOf(prefix);
    if (real !== null) return join(real, relative(prefix, path));
  }
  return path;
}

function parts(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

async function linkTarget(path: string): Promise<string | null> {
  try {
    return await readlink(path);
  } catch (error) {
    if (isErrno(error, "EINVAL", ...missing)) return null; // not a link
    throw error;
  }
}
