import type { Catalog } from "../catalog/index.ts";
import { type DirRow, dirRows } from "../catalog/index.ts";
import { isoTime } from "../core/clock.ts";
import type { Caller } from "../wire/caller.ts";
import type { SessionDirs } from "../wire/changes.ts";
import type { Worktrees } from "../worktrees/index.ts";
import { firstPageMs } from "./catalog-view.ts";
import { countedIn, type VisibleDirs } from "./visible-dirs.ts";

/** What {@link createDirs} needs. */
export interface DirsDeps {
  readonly catalog: Pick<Catalog, "database" | "firstPage">;
  readonly visibleDirs: VisibleDirs;
  readonly worktrees: Pick<Worktrees, "worktreeRoots">;
}

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
