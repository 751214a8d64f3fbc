export { createBranches } from "./branches.ts";
export { createClosePreview } from "./close-preview.ts";
export { createGitWorkshop } from "./git-workshop.ts";
export { createSessionDiff, type DiffOf } from "./session-diff.ts";
export { shownName } from "./tree-walk.ts";
export type { NewWorktree } from "./worktree-deps.ts";
export {
  countWorktrees,
  type FolderRule,
  filesRule,
  type SessionPlace,
  sessionPlaceOf,
  type VisibleFiles,
  visibleFiles,
} from "./worktree-scope.ts";
export type { WorktreeRecord } from "./worktree-store.ts";
export { shownWorktree } from "./worktree-store.ts";
export { createWorktrees, type Worktrees } from "./worktrees.ts";
