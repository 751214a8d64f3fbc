import type { SessionSummary } from "../wire/coding.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/** A worktree as a session's summary shows it. */
export function shownWorktree(record: WorktreeRecord | null): SessionSummary["worktree"] {
  if (record === null) return null;
  const { repository, path, branch, baseBranch, rescueRef: ref, rescueCommit: commit, state } = record;
  const removed = state !== "ready" && state !== "creating";
  const rescue = ref === null || commit === null ? null : { ref, commit };
  return { repository, path, branch, baseBranch, removed, rescue };
}
