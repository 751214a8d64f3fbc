import { posix } from "node:path";
import { keyOf } from "./assertion.ts";

/** Where paths are of. */
export interface FilePlace {
  /** The main checkout. */
  readonly repository: string | null;
  /** The directory of the session: relative paths are of it. */
  readonly cwd?: string | null | undefined;
  /** The worktree of the repository that the session works in, where it is not the main checkout. */
  readonly worktree?: string | null | undefined;
}

/** One name for a file, by whatever path it was called: absolute where that can be told, and in a worktree the repository's. */
export function fileKey(path: string, { repository, cwd, worktree }: FilePlace): string {
  const isRelative = !path.startsWith("/");
  if (isRelative && (cwd === undefined || cwd === null || path.startsWith("~"))) return keyOf(path);
  const absolute = posix.normalize(isRelative ? `${cwd}/${path}` : path);
  const inWorktree = worktree !== undefined && worktree !== null && `${absolute}/`.startsWith(`${worktree}/`);
  return keyOf(inWorktree && repository !== null ? `${repository}${absolute.slice(worktree.length)}` : absolute);
}
