export type { ClosedWorktree } from "./close-worktree.ts";
export type { Rescue } from "./restore.ts";
export { shownWorktree } from "./shown-worktree.ts";
export { shownName } from "./tree-walk.ts";
export type { NewWorktree } from "./worktree-deps.ts";
export type { WorktreeRecord } from "./worktree-store.ts";
export { createWorktrees, type Worktrees } from "./worktrees.ts";
