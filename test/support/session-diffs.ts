import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { createGate } from "../../src/core/gate.ts";
import type { ClosePreview, SessionDiff } from "../../src/wire/changes.ts";
import { createClosePreview } from "../../src/worktrees/close-preview.ts";
import { createGitWorkshop } from "../../src/worktrees/index.ts";
import { createSessionDiff, type DiffOf, type DiffOptions } from "../../src/worktrees/session-diff.ts";
import type { WorktreeWorld } from "./worktree-world.ts";

/** Compares in this world as a gateway does. By default everything is visible; `of` can limit that. */
export async function diffIn(
  { root, worktrees }: Pick<WorktreeWorld, "root" | "worktrees">,
  of: { readonly dir: string; readonly sessionId?: string } & Partial<DiffOf>,
  options: DiffOptions = {},
): Promise<SessionDiff> {
  const sessionDiff = createSessionDiff(lookingIn(root));
  const worktree = of.sessionId === undefined ? null : await worktrees.ofSession(of.sessionId);
  return sessionDiff({ worktree, visibleAmong: async (dirs) => new Set(dirs), ...of }, options);
}

/** What the close of this session would do to its worktree. */
export async function previewIn(
  { root, worktrees }: Pick<WorktreeWorld, "root" | "worktrees">,
  sessionId: string,
): Promise<ClosePreview["worktree"]> {
  const record = await worktrees.ofSession(sessionId);
  return record && createClosePreview(lookingIn(root))(record);
}

/** What comparisons need of a gateway. */
export function lookingIn(root: string) {
  const home = join(root, "state of postern");
  const workshop = createGitWorkshop({ home, pathVariable: process.env["PATH"] ?? "" });
  return { workshop, clock: systemClock, gate: createGate({ atOnce: 4, waiting: 4 }) };
}

/** Each file as one line: status, added and removed lines, path. */
export function linesOf({ files }: Pick<SessionDiff, "files">): readonly string[] {
  return files.map(({ status, additions, deletions, path, previousPath }) =>
    [
      status,
      `+${additions ?? "?"}`,
      `-${deletions ?? "?"}`,
      ...(previousPath === null ? [] : [previousPath]),
      path,
    ].join(" "),
  );
}
