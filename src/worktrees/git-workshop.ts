import { join } from "node:path";
import { newUuid } from "../core/ids.ts";
import { createGit, type Git } from "../platform/git-command.ts";
import type { EnvironmentMarker } from "../platform/processes.ts";

/** Git, and room for its scratch folders in the state folder: swept, with what still runs in it, at the start of the next gateway. */
export interface GitWorkshop {
  readonly git: Git;
  readonly root: string;
  /** Marks what git started here. */
  readonly marker: EnvironmentMarker;
  /** A new name in it. */
  scratchFolder(): string;
}

/** @param options `home` is the state folder, `pathVariable` is where git is looked for */
export function createGitWorkshop({
  home,
  pathVariable,
}: {
  readonly home: string;
  readonly pathVariable: string;
}): GitWorkshop {
  const root = join(home, "worktrees");
  const marker = { name: "POSTERN_GIT", value: root };
  return { git: createGit({ pathVariable, marker }), root, marker, scratchFolder: () => join(root, newUuid()) };
}
