import { join } from "node:path";
import type { Caller, VisibleAmong } from "../wire/caller.ts";

/** Those of some paths in a repository, each from its root, whose folders the caller can see. */
export type VisibleFiles = <T extends string>(paths: readonly T[], shown: (path: T) => string) => Promise<readonly T[]>;

/** The rule for every list of files of a session. @param root as which the paths' root counts: for a worktree, its repository */
export function visibleFiles(
  root: string,
  visibleAmong: (dirs: readonly string[]) => Promise<ReadonlySet<string>>,
): VisibleFiles {
  return async (paths, shown) => {
    const dirs = paths.map((path) => join(root, shown(path), ".."));
    const visible = await visibleAmong([...new Set(dirs)]);
    return paths.filter((_, index) => visible.has(dirs[index] ?? ""));
  };
}

/** Whose files a caller can see. */
export function filesRule({ folders }: Caller): Parameters<VisibleAmong>[1] {
  return { scope: "files", within: folders };
}
