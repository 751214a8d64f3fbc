import type { SessionSummary } from "../../wire/coding.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/** A worktree as a session's summary shows it. */
export function shownWorktree(record: WorktreeRecord | null): SessionSummary["worktree"] {
  if (record === null) return null;
  const { path, branch, baseBranch, rescueRef: ref, rescueCommit: commit, state } = record;
  const removed = state !== "ready" && state !== "creating";
  return { path, branch, baseBranch, removed, rescue: ref === null || commit === null ? null : { ref, commit } };
}
