import type { CloseOutput } from "../wire/coding.ts";
import { plainLine } from "./plain-text.ts";

/** What became of a closed session's worktree, for a person; nothing for a session without one. */
export function worktreeText({ sessionId, worktree }: CloseOutput): string {
  if (worktree === null) return "";
  const { path, removed, reason, rescue, ignoredLost, branchKept } = worktree;
  const lines = removed
    ? [`Worktree ${path} is removed${branchKept === null ? "" : `; its branch ${branchKept} stays`}.`]
    : [`Worktree ${path} stays: ${reason ?? "it could not be removed"}`];
  if (rescue !== null) {
    lines.push(
      `${rescue.files} changed files are kept as ${rescue.ref}; \`postern rescue restore ${sessionId}\` puts them back.`,
    );
  }
  if (removed && ignoredLost.count > 0) {
    const shown = ignoredLost.first20.slice(0, 5).join(", ");
    const more = ignoredLost.count > 5 ? ", …" : "";
    lines.push(`${ignoredLost.count} ignored files (${ignoredLost.bytes} bytes) went with it: ${shown}${more}`);
  }
  return lines.map((line) => `${plainLine(line)}\n`).join("");
}
