import { findRepository } from "../platform/git-repository.ts";
import type { Worktrees } from "./worktrees.ts";

/** Where a session works, as people would say it. */
export interface SessionPlace {
  /** Its directory; in a gateway-made worktree, also in one that is gone, the same one of the repository. */
  readonly dir: string;
  /** The repository's main checkout; null when it lies in none that still stands. */
  readonly repository: string | null;
  /** The root of the gateway-made worktree that it works in; null when it is in none. */
  readonly worktree: string | null;
}

/** @param dir a session's directory, a real path that need not exist any more */
export async function placeOf(worktrees: Pick<Worktrees, "countedAs">, dir: string): Promise<SessionPlace> {
  const { dir: real, counted, place } = await worktrees.countedAs(dir);
  const repository = (await findRepository(counted))?.root ?? null;
  if (repository === null || place === "elsewhere") return { dir: counted, repository, worktree: null };
  // Both end with the same folders below their roots.
  const worktree = real.slice(0, real.length - (counted.length - repository.length));
  return { dir: counted, repository, worktree };
}
