import { dirname } from "node:path";
import { isErrno, type PosternError } from "../core/errors.ts";
import type { RepositoryPlace } from "../platform/git-repository.ts";
import { type HeldFolder, holdFolder } from "../platform/held-folder.ts";
import { worktreeError } from "./errors.ts";

/** A repository's folders, held open: the folder rule allows paths, and one can be replaced by a link to another repository at any time. */
export interface HeldRepository {
  /** The repository, by paths that lead to what was opened. */
  readonly place: RepositoryPlace;
  /** The folder that worktrees are made in, by such a path. */
  readonly parent: string;
  /** @throws PosternError `dir_not_allowed` when a path leads elsewhere by now */
  requireSame(): void;
  /** What git says of those paths, with the repository's own. */
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
  return worktreeError(
    "dir_not_allowed",
    `${path} is no longer the directory that was checked: it, or a folder above it, was replaced.`,
  );
}
