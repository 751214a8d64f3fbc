import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Git } from "../platform/git-command.ts";
import type { WorktreeStore } from "./worktree-store.ts";

/** What the parts of this room share. */
export interface WorktreeDeps {
  readonly git: Git;
  readonly store: WorktreeStore;
  readonly clock: Clock;
  readonly log: Log;
  /** A new name in a folder of ours; swept at the start. */
  readonly scratchFolder: () => string;
  /** Told after each step, for tests that stop there. */
  readonly onStep: (step: WorktreeStep) => Promise<void>;
}

/** Between two of these a crash leaves something behind. */
export type WorktreeStep =
  | "intent"
  | "branch"
  | "folder"
  | "registered"
  | "checked out"
  | "included"
  | "closing"
  | "rescued"
  | "removing"
  | "folder removed"
  | "entry removed";

/** A worktree that is asked for. */
export interface NewWorktree {
  readonly sessionId: string;
  /** A real path. */
  readonly dir: string;
  readonly baseBranch: string;
  readonly branch: string;
}
