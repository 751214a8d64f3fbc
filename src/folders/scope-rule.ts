import type { FolderScope } from "../wire/access.ts";

/** A registered folder, by its real path. */
export interface RegisteredFolder {
  readonly path: string;
  readonly scopes: readonly FolderScope[];
}

/** What is asked of the rule: the scope that is needed, and the folders that the caller's token is limited to (null: none). */
export interface Rule {
  readonly scope: FolderScope;
  readonly within: readonly string[] | null;
}

/**
 * The seed's folder scope rule, on real paths. With no folder registered any directory will do; else the innermost folder that
 * holds it decides. A limited caller stays within its own folders besides.
 *
 * @see the seed, "Folder scope rule"
 */
export function isAllowed(folders: readonly RegisteredFolder[], dir: string, rule: Rule): boolean {
  if (rule.within !== null && !rule.within.some((folder) => holds(folder, dir))) return false;
  return folders.length === 0 || innermost(folders, dir)?.scopes.includes(rule.scope) === true;
}

/** The registered folder nearest to `dir`. */
export function innermost(folders: readonly RegisteredFolder[], dir: string): RegisteredFolder | null {
  let found: RegisteredFolder | null = null;
  for (const folder of folders) {
    if (holds(folder.path, dir) && (found === null || folder.path.length > found.path.length)) found = folder;
  }
  return found;
}

/** Whether `dir` is `folder` or lies in it, by component: `/a/bc` does not lie in `/a/b`. */
export function holds(folder: string, dir: string): boolean {
  return dir === folder || dir.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
