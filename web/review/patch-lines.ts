import { type DiffLine, diffOfPatch } from "../session/line-diff.ts";

/** A line of a patch, with its numbers in the new and the old file. Both are null for a `hunk`. */
export interface PatchLine extends DiffLine {
  readonly oldNumber: number | null;
  /** For a `hunk`: the unchanged lines that are left out before it. */
  readonly gap?: Gap;
}

/** Unchanged lines that a patch leaves out. */
export interface Gap {
  /** Counts the gaps of a patch, from 0 at the top of the file. */
  readonly index: number;
  /** Null after the last hunk, as long as the file's length is not known. */
  readonly hidden: number | null;
  /** Whether there are changes above it. */
  readonly after: boolean;
}

/** How many lines of a gap are shown at its start and at its end. */
export interface Opened {
  readonly head: number;
  readonly tail: number;
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

/** Lines shown next to each other, by index. The two are equal for a line that is on both sides, or fills the whole row. */
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

/** Git shows this many unchanged lines around changes. Fewer after the last change mean that the file ends there. */
const contextLines = 3;

/**
 * Fills the gaps between hunks with lines of the new file, as far as they are opened.
 * @param file null as long as its lines are not known
 */
export function fillGaps(
  lines: readonly PatchLine[],
  file: readonly string[] | null,
  opened: ReadonlyMap<number, Opened>,
): readonly PatchLine[] {
  const filled: PatchLine[] = [];
  let number = 1;
  let oldNumber = 1;
  let index = 0;
  const fill = (count: number): void => {
    for (let left = count; left > 0; left -= 1) {
      filled.push({ kind: "context", text: file?.[number - 1] ?? "", number: number++, oldNumber: oldNumber++ });
    }
  };
  const gap = (count: number | null, text: string): void => {
    const after = filled.length > 0;
    const { head: wantedHead, tail: wantedTail } = opened.get(index) ?? { head: 0, tail: 0 };
    const known = file === null || count === null ? 0 : count;
    const head = Math.min(wantedHead, known);
    const tail = Math.min(wantedTail, known - head);
    const hidden = count === null ? null : count - head - tail;
    fill(head);
    if (hidden !== 0) {
      filled.push({ kind: "hunk", text, number: null, oldNumber: null, gap: { index, hidden, after } });
      number += hidden ?? 0;
      oldNumber += hidden ?? 0;
    }
    fill(tail);
    index += 1;
  };
  for (const line of lines) {
    const start = line.kind === "hunk" ? newStartOf(line.text) : null;
    if (start !== null) gap(Math.max(0, start - number), line.text);
    else {
      filled.push(line);
      if (line.kind === "added" || line.kind === "context") number = (line.number ?? number) + 1;
      if (line.kind === "removed" || line.kind === "context") oldNumber = (line.oldNumber ?? oldNumber) + 1;
    }
  }
  const last = lines.slice(-contextLines);
  if (last.length === contextLines && last.every(({ kind }) => kind === "context")) {
    gap(file === null ? null : Math.max(0, file.length - number + 1), "");
  }
  return filled;
}

/** The first line of a hunk in the new file; null if its header does not say. */
function newStartOf(header: string): number | null {
  const [, start, count = "1"] = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? /.exec(header) ?? [];
  return start === undefined ? null : Number(start) + (count === "0" ? 1 : 0);
}

/** Whether a file contains the lines of the patch, at the positions that the patch gives. */
export function isPatchOf(lines: readonly PatchLine[], file: readonly string[]): boolean {
  return lines.every(
    ({ kind, text, number }) =>
      (kind !== "added" && kind !== "context") ||
      number === null ||
      withoutReturn(file[number - 1]) === withoutReturn(text),
  );
}

function withoutReturn(text: string | undefined): string | undefined {
  return text?.endsWith("\r") === true ? text.slice(0, -1) : text;
}

/** The lines of a file, as a patch counts them. */
export function linesOfFile(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** What changed in a file whose patch has no lines. */
export function changeWithoutLines(patch: string): string {
  if (patch === "") return "Only whitespace has changed.";
  const [, before] = /^old mode (\d+)$/m.exec(patch) ?? [];
  const [, after] = /^new mode (\d+)$/m.exec(patch) ?? [];
  const mode = before === undefined || after === undefined ? "" : ` Mode ${before} → ${after}.`;
  if (/^rename to /m.test(patch)) return `Renamed, with the same content.${mode}`;
  if (mode !== "") return `Only its mode has changed.${mode}`;
  return "An empty file.";
}
