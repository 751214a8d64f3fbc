/** `number` is the line's number in the new text or, for a removed line, in the old text. */
export interface DiffLine {
  readonly kind: "context" | "added" | "removed" | "hunk";
  readonly text: string;
  readonly number: number | null;
}

/** With more lines than this in total, all are shown as removed and added. */
const maxCompared = 1_500;

/** A line diff by longest common subsequence, with full context. */
export function diffOfTexts(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = compare(old.slice(head, old.length - tail), now.slice(head, now.length - tail), head);
  return [
    ...now.slice(0, head).map((text, at) => context(text, at + 1)),
    ...middle,
    ...now.slice(now.length - tail).map((text, at) => context(text, now.length - tail + at + 1)),
  ];
}

/** The position in a hunk: the next line on both sides, null if unknown, and the lines left. */
interface HunkPlace {
  oldNumber: number | null;
  newNumber: number | null;
  oldLeft: number;
  newLeft: number;
}

/** The lines of a unified diff's hunks. Headers count their lines, so `---` within a hunk is a line. With `counted` false (`apply_patch`), a hunk ends at the next header. */
export function diffOfPatch(patch: string, { counted = true } = {}): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let place: HunkPlace | null = null;
  for (const line of linesOf(patch)) {
    if (line.startsWith("@@")) {
      place = hunkStart(line, counted);
      lines.push({ kind: "hunk", text: line, number: null });
    } else if (place !== null && endsHunk(line, place)) {
      place = null;
    } else if (place !== null && !line.startsWith("\\")) {
      const last = line === "" && place.oldLeft === 0 && place.newLeft === 0;
      if (!last) lines.push(take(line, place));
    }
  }
  return lines;
}

function hunkStart(head: string, counted: boolean): HunkPlace {
  const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?/.exec(head);
  if (found === null) return { oldNumber: null, newNumber: null, oldLeft: Infinity, newLeft: Infinity };
  const [, oldNumber, oldCount = "1", newNumber, newCount = "1"] = found;
  return {
    oldNumber: Number(oldNumber),
    newNumber: Number(newNumber),
    oldLeft: counted ? Number(oldCount) : Infinity,
    newLeft: counted ? Number(newCount) : Infinity,
  };
}

/** Lines of a counted hunk begin with a sign, so `diff` is a header; `---` is one only when no lines are left. */
function endsHunk(line: string, { oldLeft, newLeft }: HunkPlace): boolean {
  return (
    (line.startsWith("diff ") && oldLeft !== Infinity) || (oldLeft === 0 && newLeft === 0 && line.startsWith("--- "))
  );
}

function take(line: string, place: HunkPlace): DiffLine {
  const { oldNumber, newNumber } = place;
  const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "context";
  if (kind !== "added") {
    place.oldNumber = oldNumber === null ? null : oldNumber + 1;
    place.oldLeft = Math.max(0, place.oldLeft - 1);
  }
  if (kind !== "removed") {
    place.newNumber = newNumber === null ? null : newNumber + 1;
    place.newLeft = Math.max(0, place.newLeft - 1);
  }
  return { kind, text: line.slice(1), number: kind === "removed" ? oldNumber : newNumber };
}

export interface PatchedFile {
  readonly path: string;
  readonly action: "added" | "modified" | "deleted";
  readonly lines: readonly DiffLine[];
}

/** The files of an `apply_patch` text; null if the text is not one. */
export function filesOfApplyPatch(text: string): readonly PatchedFile[] | null {
  if (!text.includes("*** Begin Patch")) return null;
  const sections = text.split(/^\*\*\* (?=(?:Add|Update|Delete) File: )/m).slice(1);
  return sections.map((section) => {
    const [, verb = "", path = ""] = /^(Add|Update|Delete) File: (.*)/.exec(section) ?? [];
    const body = section
      .slice(section.indexOf("\n") + 1)
      .split(/^\*\*\* (?:End Patch|Move to: .*)$/m)
      .join("")
      .replace(/\n+$/, "");
    const action = verb === "Add" ? "added" : verb === "Delete" ? "deleted" : "modified";
    const hunks = body.startsWith("@@") ? body : `@@\n${body}`;
    return {
      path,
      action,
      lines: diffOfPatch(hunks, { counted: false }).filter(
        ({ kind, text: words }) => kind !== "hunk" || words !== "@@",
      ),
    };
  });
}

export function countOfDiff(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  let added = 0;
  let removed = 0;
  for (const { kind } of lines) {
    if (kind === "added") added += 1;
    if (kind === "removed") removed += 1;
  }
  return { added, removed };
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function context(text: string, number: number): DiffLine {
  return { kind: "context", text, number };
}

function compare(old: readonly string[], now: readonly string[], before: number): readonly DiffLine[] {
  const removed = (at: number): DiffLine => ({ kind: "removed", text: old[at] ?? "", number: before + at + 1 });
  const added = (at: number): DiffLine => ({ kind: "added", text: now[at] ?? "", number: before + at + 1 });
  if (old.length + now.length > maxCompared) {
    return [...old.map((_, at) => removed(at)), ...now.map((_, at) => added(at))];
  }
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const down = common[(i + 1) * width + j] ?? 0;
      const right = common[i * width + j + 1] ?? 0;
      common[i * width + j] = old[i] === now[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(down, right);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const down = i < old.length ? (common[(i + 1) * width + j] ?? 0) : -1;
    const right = j < now.length ? (common[i * width + j + 1] ?? 0) : -1;
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(context(now[j] ?? "", before + j + 1));
      i += 1;
      j += 1;
    } else if (down >= right) lines.push(removed(i++));
    else lines.push(added(j++));
  }
  return lines;
}
