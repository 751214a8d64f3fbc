import { type DiffLine, diffOfPatch } from "../session/line-diff.ts";

/** A line of a patch, with its numbers in the new and the old file. Both are null for a `hunk`. */
export interface PatchLine extends DiffLine {
  readonly oldNumber: number | null;
}

/** The lines of a patch, with their numbers on both sides. */
export function linesOfPatch(patch: string): readonly PatchLine[] {
  let old = 0;
  return diffOfPatch(patch).map((line) => {
    if (line.kind === "hunk") {
      const [, start = "", count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(line.text) ?? [];
      // For an empty range, git gives the previous line.
      old = Number(start) + (count === "0" ? 1 : 0);
      return { ...line, oldNumber: null };
    }
    return { ...line, oldNumber: line.kind === "added" ? null : old++ };
  });
}

/** Lines shown next to each other, by index. The two are equal for a line that is on both sides, or takes the whole row. */
export interface PatchRow {
  readonly left: number | null;
  readonly right: number | null;
}

export function unifiedRows(lines: readonly PatchLine[]): readonly PatchRow[] {
  return lines.map((_, index) => ({ left: index, right: index }));
}

/** Removed lines are shown next to the added lines that follow them. */
export function splitRows(lines: readonly PatchLine[]): readonly PatchRow[] {
  const rows: PatchRow[] = [];
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, "removed");
    const added = runOf(lines, at + removed, "added");
    for (let offset = 0; offset < Math.max(removed, added); offset += 1) {
      rows.push({
        left: offset < removed ? at + offset : null,
        right: offset < added ? at + removed + offset : null,
      });
    }
    if (removed + added === 0) rows.push({ left: at, right: at });
    at += Math.max(1, removed + added);
  }
  return rows;
}

/** The number of consecutive lines of this kind, starting at `from`. */
export function runOf(lines: readonly DiffLine[], from: number, kind: DiffLine["kind"]): number {
  let end = from;
  while (lines[end]?.kind === kind) end += 1;
  return end - from;
}
