import { access, constants, lstat, opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno, PosternError } from "../core/errors.ts";
import type { CompletedPaths } from "../wire/changes.ts";
import { holds, isAllowed, type RegisteredFolder, resolvePath } from "./real-path.ts";

/** The caller of a path completion. */
export interface CompleteRule {
  /** Folders (real paths) that the caller is limited to; null for no limit. */
  readonly within: readonly string[] | null;
  /** Whether the caller can list any directory while no folder is registered: only the owner can. */
  readonly anywhere: boolean;
  /** The directory for `~`; null if it has no meaning. */
  readonly userHome: string | null;
}

const maxShown = 100;
/** Larger directories are not read to the end. */
const maxEntries = 20_000;
const looksAtOnce = 32;
const missing = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EPERM"] as const;

/**
 * Directories that start with `typed`, an absolute path, among those in which the caller can use files or agents: whole paths of
 * registered folders, and their content. Hidden directories only if the last component starts with a dot; never Postern's own.
 * @param places `home` is Postern's own state folder
 * @throws PosternError `invalid_request` if the path is not absolute
 */
export async function completePath(
  typed: string,
  places: { readonly folders: readonly RegisteredFolder[]; readonly home: string },
  rule: CompleteRule,
): Promise<CompletedPaths> {
  const path = absolute(typed, rule.userHome);
  const cut = path.lastIndexOf("/") + 1;
  const parent = path.slice(0, cut);
  const begin = path.slice(cut);
  const home = (await resolvePath(places.home)).path;
  const mayUse = (real: string): boolean => !holds(home, real) && isUsable(real, places.folders, rule);
  const inParent = await childrenOf(parent, begin);
  // Offers the caller's folders as a whole, because the directories on the way to them cannot be listed.
  const roots = rootsOf(places.folders, rule).filter((root) => root.startsWith(path));
  const candidates = [...new Set([...inParent.names.map((name) => join(parent, name)), ...roots])].toSorted();
  const usable: string[] = [];
  for (let at = 0; at < candidates.length && usable.length <= maxShown; at += looksAtOnce) {
    const some = candidates.slice(at, at + looksAtOnce);
    const answers = await Promise.all(some.map((each) => isUsableFolder(each, mayUse)));
    usable.push(...some.filter((_each, index) => answers[index] === true));
  }
  const directories = await Promise.all(
    usable.slice(0, maxShown).map(async (each) => ({ path: each, isRepository: await exists(join(each, ".git")) })),
  );
  return { directories, truncated: inParent.truncated || usable.length > maxShown };
}

function absolute(typed: string, userHome: string | null): string {
  const path = userHome !== null && /^~(?:\/|$)/.test(typed) ? `${userHome}${typed.slice(1)}` : typed;
  if (path.startsWith("/") && !path.includes("\0")) return path;
  throw new PosternError("invalid_request", `${JSON.stringify(typed)} is not an absolute path.`);
}

function isUsable(real: string, folders: readonly RegisteredFolder[], { within, anywhere }: CompleteRule): boolean {
  if (folders.length === 0 && within === null) return anywhere;
  return isAllowed(folders, real, { scope: "files", within }) || isAllowed(folders, real, { scope: "coding", within });
}

function rootsOf(folders: readonly RegisteredFolder[], { within }: CompleteRule): readonly string[] {
  return [...folders.map(({ path }) => path), ...(within ?? [])];
}

/** Directories, and links that may lead to one, whose names start with this. */
async function childrenOf(
  parent: string,
  begin: string,
): Promise<{ readonly names: readonly string[]; readonly truncated: boolean }> {
  const names: string[] = [];
  let seen = 0;
  try {
    for await (const entry of await opendir(parent, { bufferSize: 256 })) {
      seen += 1;
      if (seen > maxEntries) return { names, truncated: true };
      const { name } = entry;
      const hidden = name.startsWith(".") && !begin.startsWith(".");
      // A name that is not UTF-8 contains this character, and a request cannot contain it.
      if (!name.startsWith(begin) || hidden || name.includes("\ufffd")) continue;
      if (entry.isDirectory() || entry.isSymbolicLink()) names.push(name);
    }
  } catch (error) {
    if (!isErrno(error, ...missing)) throw error;
  }
  return { names, truncated: false };
}

async function isUsableFolder(path: string, mayUse: (real: string) => boolean): Promise<boolean> {
  const real = await resolvePath(path);
  if (!real.exists || !mayUse(real.path)) return false;
  try {
    if (!(await stat(real.path)).isDirectory()) return false;
    await access(real.path, constants.X_OK);
    return true;
  } catch (error) {
    if (isErrno(error, ...missing)) return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isErrno(error, ...missing)) return false;
    throw error;
  }
}
