import { findRepository } from "../platform/git-repository.ts";
import type { Worktrees } from "./worktrees/index.ts";

/** Where a session works, as people would say it. */
export interface SessionPlace {
  /** Its directory; in a gateway-made worktree, also in one that is gone, the same one of the repository. */
  readonly dir: string;
  /** The repository's main checkout; null when it lies in none that still stands. */
  readonly repository: string | null;
}

/** @param dir a session's directory, a real path that need not exist any more */
export async function placeOf(worktrees: Pick<Worktrees, "countedAs">, dir: string): Promise<SessionPlace> {
  const { counted } = await worktrees.countedAs(dir);
  return { dir: counted, repository: (await findRepository(counted))?.root ?? null };
}
