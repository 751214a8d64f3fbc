/** As many terminals as can be read side by side. */
export const maxCells = 6;

/** The session of each cell. A closed cell stays empty if there are cells after it, so that these keep their numbers. */
export type Cells = readonly (string | null)[];

export interface Watched {
  readonly cells: Cells;
  /** The cell that fills the page. */
  readonly full: number | null;
}

/** Parses the address of the page, so that a selection can be bookmarked. */
export function parseWatched(params: URLSearchParams): Watched {
  const seen = new Set<string>();
  const cells = (params.get("s") ?? "").split(",").map((sessionId) => {
    if (sessionId === "" || seen.has(sessionId)) return null;
    seen.add(sessionId);
    return sessionId;
  });
  const kept = trimmed(cells.slice(0, maxCells));
  const full = Number(params.get("full") ?? Number.NaN) - 1;
  return { cells: kept, full: typeof kept[full] === "string" ? full : null };
}

export function formatWatched({ cells, full }: Watched): Record<string, string> {
  const kept = trimmed(cells);
  return {
    ...(kept.length === 0 ? {} : { s: kept.map((sessionId) => sessionId ?? "").join(",") }),
    ...(full === null || typeof kept[full] !== "string" ? {} : { full: String(full + 1) }),
  };
}

/** Empties a cell. The others stay where they are. */
export function withoutCell({ cells, full }: Watched, at: number): Watched {
  return {
    cells: trimmed(cells.map((sessionId, each) => (each === at ? null : sessionId))),
    full: full === at ? null : full,
  };
}

/** Puts a session into the cell `at`, or else into the first empty or a new one. A session that is already shown is not added again. */
export function withSession(watched: Watched, sessionId: string, at?: number): Watched {
  const { cells } = watched;
  if (cells.includes(sessionId)) return watched;
  const empty = cells.indexOf(null);
  const target = at ?? (empty === -1 ? cells.length : empty);
  if (target >= maxCells) return watched;
  const next = Array.from({ length: Math.max(cells.length, target + 1) }, (_, each) =>
    each === target ? sessionId : (cells[each] ?? null),
  );
  return { ...watched, cells: next };
}

function trimmed(cells: Cells): Cells {
  return cells.slice(0, cells.findLastIndex((sessionId) => sessionId !== null) + 1);
}

/** The cell that an arrow key leads to in a grid of `columns`; the same one at an edge. Empty cells can be focused too. */
export function neighbourOf(
  at: number,
  key: string,
  { columns, count }: { readonly columns: number; readonly count: number },
): number {
  const column = at % columns;
  const next =
    key === "ArrowLeft" && column > 0
      ? at - 1
      : key === "ArrowRight" && column < columns - 1
        ? at + 1
        : key === "ArrowUp"
          ? at - columns
          : key === "ArrowDown"
            ? at + columns
            : at;
  return next >= 0 && next < count ? next : at;
}
