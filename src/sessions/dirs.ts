import { realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { Catalog } from "../catalog/index.ts";
import { type DirRow, dirRows, labelRows } from "../catalog/index.ts";
import { isoTime } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { SessionDirs } from "../wire/changes.ts";
import type { LabelList } from "../wire/session-notes.ts";
import type { Worktrees } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
export interface DirsDeps {
  readonly catalog: Pick<Catalog, "database" | "firstPage">;
  readonly visibleDirs: VisibleDirs;
  readonly worktrees: Pick<Worktrees, "worktreeRoots">;
}

/** Within this time, a catalog that is built for the first time has its newest page. */
export const firstPageMs = 200;
const maxDirs = 500;

/** `GET /api/coding/dirs`: where the sessions that the caller may see have worked. */
export function createDirs({ catalog, visibleDirs, worktrees }: DirsDeps): (caller: Caller) => Promise<SessionDirs> {
  return async (caller) => {
    await catalog.firstPage(firstPageMs);
    const rows = await dirRows(await catalog.database());
    const visible = await visibleDirs.among(
      rows.map(({ dir }) => dir),
      caller,
    );
    const counted = countedIn(await worktrees.worktreeRoots());
    const byDir = new Map<string, DirRow>();
    for (const row of rows.filter(({ dir }) => visible.has(dir))) {
      const dir = counted(row.dir);
      const before = byDir.get(dir) ?? { sessions: 0, lastUsedAt: 0 };
      const lastUsedAt = Math.max(before.lastUsedAt, row.lastUsedAt);
      byDir.set(dir, { dir, sessions: before.sessions + row.sessions, lastUsedAt });
    }
    const all = [...byDir.values()].toSorted((a, b) => b.lastUsedAt - a.lastUsedAt || (a.dir < b.dir ? -1 : 1));
    const dirs = all.slice(0, maxDirs).map((row) => ({ ...row, lastUsedAt: isoTime(row.lastUsedAt) }));
    return { dirs, truncated: all.length > maxDirs };
  };
}

/** More than anyone can choose from. */
const maxListedLabels = 500;

/** `GET /api/coding/labels`: the labels of sessions that the caller may see. */
export function createLabels({
  catalog,
  visibleDirs,
}: Pick<DirsDeps, "catalog" | "visibleDirs">): (caller: Caller) => Promise<LabelList> {
  return async (caller) => {
    const rows = await labelRows(await catalog.database());
    const visible = await visibleDirs.among([...new Set(rows.map(({ dir }) => dir))], caller);
    const counts = new Map<string, number>();
    for (const { label, dir, sessions } of rows) {
      if (visible.has(dir)) counts.set(label, (counts.get(label) ?? 0) + sessions);
    }
    const labels = [...counts].map(([label, sessions]) => ({ label, sessions }));
    return { labels: labels.slice(0, maxListedLabels), truncated: labels.length > maxListedLabels };
  };
}

/** Decides which directories' sessions a caller may see, for many at once. */
export interface VisibleDirs {
  /**
   * The members of `dirs` that the caller may see, as real paths; with `below`, only that directory and directories in it. A worktree that the
   * gateway created counts as itself and as its repository. @throws PosternError `invalid_request` if `below` is not an absolute path
   */
  among(dirs: readonly string[], caller: Caller, below?: string): Promise<ReadonlySet<string>>;
}

/** The rule and the worktrees are read at every call, so that changes take effect immediately. */
export function createVisibleDirs(deps: {
  readonly visibleAmong: VisibleAmong;
  readonly worktrees: Pick<Worktrees, "worktreeRoots">;
}): VisibleDirs {
  return {
    async among(dirs, caller, below) {
      const counted = countedIn(await deps.worktrees.worktreeRoots());
      const countedDirs = new Map(dirs.map((dir) => [dir, counted(dir)]));
      const rule = { scope: "coding", within: caller.folders } as const;
      const allowed = await deps.visibleAmong([...new Set(countedDirs.values())], rule);
      const visible = dirs.filter((dir) => allowed.has(countedDirs.get(dir) ?? dir));
      if (below === undefined) return new Set(visible);
      const within = [await realFolder(below)];
      const both = new Set(visible.flatMap((dir) => [dir, countedDirs.get(dir) ?? dir]));
      const inside = await deps.visibleAmong([...both], { scope: "coding", within });
      return new Set(visible.filter((dir) => inside.has(dir) || inside.has(countedDirs.get(dir) ?? dir)));
    },
  };
}

/** The directory that access rules apply to: for a directory in a worktree, the same directory in the repository. */
export function countedIn(
  roots: readonly { readonly path: string; readonly repository: string }[],
): (dir: string) => string {
  return (dir) => {
    const root = roots.find(({ path }) => dir === path || dir.startsWith(`${path}/`));
    return root === undefined ? dir : join(root.repository, relative(root.path, dir));
  };
}

/** Resolves links. A folder that no longer exists is kept as written, because its sessions are still on record. */
async function realFolder(dir: string): Promise<string> {
  if (!isAbsolute(dir) || dir.includes("\0")) {
    throw sessionError("invalid_request", `${JSON.stringify(dir)} is not an absolute path.`);
  }
  try {
    return await realpath(dir);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG")) return resolve(dir);
    throw error;
  }
}
