/** A path in a directory, relative to it; a folder ends in `/`. */
export interface RankedPath {
  readonly path: string;
  readonly rank: number;
}

/** Paths of one directory, searchable by incomplete names. */
export interface PathIndex {
  readonly size: number;
  /** The best matches, best first, and the number of all matches. */
  search(query: string, limit: number): { readonly paths: readonly string[]; readonly total: number };
}

/**
 * Builds an index. A search looks at every path: 100,000 take about 10 ms.
 * @param paths without duplicates; `recent` paths rank before others that match equally well
 */
export function createPathIndex(paths: readonly string[], recent: ReadonlySet<string> = new Set()): PathIndex {
  const columns = emptyColumns(paths.length);
  fill(columns, paths, { recent, from: 0, to: paths.length });
  return indexOf(paths, columns);
}

/** Does the same in steps, and awaits `pause` between them. */
export async function buildPathIndex(
  paths: readonly string[],
  recent: ReadonlySet<string>,
  pause: () => Promise<void>,
): Promise<PathIndex> {
  const columns = emptyColumns(paths.length);
  for (let from = 0; from < paths.length; from += pathsPerStep) {
    fill(columns, paths, { recent, from, to: Math.min(from + pathsPerStep, paths.length) });
    await pause();
  }
  return indexOf(paths, columns);
}

/** About 1 ms. */
const pathsPerStep = 1_000;

interface Columns {
  readonly lower: string[];
  readonly bases: Uint16Array;
  readonly masks: Int32Array;
  readonly isRecent: Uint8Array;
}

function emptyColumns(size: number): Columns {
  return {
    lower: [],
    bases: new Uint16Array(size),
    masks: new Int32Array(size),
    isRecent: new Uint8Array(size),
  };
}

function fill(
  { lower, bases, masks, isRecent }: Columns,
  paths: readonly string[],
  { recent, from, to }: { readonly recent: ReadonlySet<string>; readonly from: number; readonly to: number },
): void {
  for (let at = from; at < to; at += 1) {
    const path = paths[at] ?? "";
    const folded = path.toLowerCase();
    lower.push(folded);
    bases[at] = folded.lastIndexOf("/", folded.length - 2) + 1;
    masks[at] = letters(folded);
    isRecent[at] = recent.has(path) ? 1 : 0;
  }
}

function indexOf(paths: readonly string[], { lower, bases, masks, isRecent }: Columns): PathIndex {
  function search(query: string, limit: number): ReturnType<PathIndex["search"]> {
    const wanted = query.toLowerCase().replace(/^\.?\/+/, "");
    const mask = letters(wanted);
    const best: { readonly at: number; readonly rank: number }[] = [];
    let total = 0;
    for (let at = 0; at < lower.length; at += 1) {
      if ((mask & ~(masks[at] ?? 0)) !== 0) continue;
      const rank = rankOf(wanted, lower[at] ?? "", bases[at] ?? 0);
      if (rank === null) continue;
      total += 1;
      insert(best, { at, rank: rank - (isRecent[at] === 1 ? recentBonus : 0) }, limit);
    }
    return { paths: best.map(({ at }) => paths[at] ?? ""), total };
  }

  return { size: paths.length, search };
}

/** A step exceeds any length and depth, so that a better kind of match ranks first. */
const step = 10_000;
/** Moves a recent path before longer paths with the same kind of match, and before paths whose match is one kind better. */
const recentBonus = step * 1.5;
const perLevel = 20;

/** Lower is better; null if `path` does not match. Both are in lower case. */
function rankOf(wanted: string, path: string, base: number): number | null {
  const kind = kindOf(wanted, path, base);
  return kind === null ? null : kind * step + path.length + levels(path) * perLevel;
}

/** How well `wanted` matches, from 0: matches in the last component rank first, and contiguous matches before split ones. */
function kindOf(wanted: string, path: string, base: number): number | null {
  if (wanted === "") return 0;
  const inBase = path.indexOf(wanted, base);
  if (inBase === base) return path.length - base - wanted.length <= 1 ? 0 : 1;
  if (path.startsWith(wanted)) return 2;
  if (inBase !== -1) return isBoundary(path, inBase) ? 3 : 4;
  const inPath = path.indexOf(wanted);
  if (inPath !== -1) return isBoundary(path, inPath) ? 5 : 6;
  if (isSubsequence(wanted, path, base)) return 7;
  return isSubsequence(wanted, path, 0) ? 8 : null;
}

function isBoundary(path: string, at: number): boolean {
  return at === 0 || /[/._\s-]/.test(path.charAt(at - 1));
}

function isSubsequence(wanted: string, path: string, from: number): boolean {
  let at = from;
  for (const letter of wanted) {
    const found = path.indexOf(letter, at);
    if (found === -1) return false;
    at = found + letter.length;
  }
  return true;
}

function levels(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at !== -1 && at < path.length - 1; at = path.indexOf("/", at + 1)) count += 1;
  return count;
}

/** One bit for each letter, and some for other characters: a path without a bit of the query cannot match it. */
function letters(text: string): number {
  let mask = 0;
  for (let at = 0; at < text.length; at += 1) mask |= 1 << (text.charCodeAt(at) & 31);
  return mask;
}

/** Keeps the `limit` best, sorted. */
function insert<T extends { readonly rank: number }>(best: T[], item: T, limit: number): void {
  const last = best.at(-1);
  if (best.length === limit && last !== undefined && last.rank <= item.rank) return;
  let low = 0;
  for (let high = best.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((best[middle]?.rank ?? 0) <= item.rank) low = middle + 1;
    else high = middle;
  }
  best.splice(low, 0, item);
  if (best.length > limit) best.pop();
}
