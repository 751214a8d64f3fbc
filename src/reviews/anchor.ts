import { sha256 } from "../core/ids.ts";

/** The lines that a comment is about, with the data to find them after the file has changed. */
export interface Anchor {
  /** Their original position; 1 is the first line. */
  readonly line: number;
  readonly lines: readonly string[];
  /** The lines before and after them, in the file's order. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Whether `before` begins with the file's first line, and `after` ends with its last. */
  readonly fromStart: boolean;
  readonly toEnd: boolean;
  /** How many context lines another place with the same lines shared; -1 if there was none. */
  readonly rival: number;
  /** SHA-256 of the file's lines. */
  readonly fileHash: string;
}

/** The first and the last line of a range; 1 is the first line of the file. */
export interface LineRange {
  readonly line: number;
  readonly endLine: number;
}

/** More context distinguishes more repetitions; eight lines are about a screen of code around the lines. */
const contextLines = 8;
/** Minified code has lines of megabytes: such context is left out. */
const maxContextLength = 2_000;
/** Lines with fewer letters and digits than this, such as `}`, cannot be identified without their neighbors. */
const distinctiveLength = 6;

/** The lines of a text, without their line ends. */
export function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Anchors lines of a file. @returns null if the file does not have them */
export function anchorOf(file: readonly string[], { line, endLine }: LineRange): Anchor | null {
  if (line < 1 || endLine < line || endLine > file.length) return null;
  const start = line - 1;
  const before = untilTooLong(file.slice(Math.max(0, start - contextLines), start).toReversed()).toReversed();
  const after = untilTooLong(file.slice(endLine, endLine + contextLines));
  const anchor = {
    line,
    lines: file.slice(start, endLine),
    before,
    after,
    fromStart: before.length === start,
    toEnd: endLine + after.length === file.length,
  };
  const others = placesOf(anchor.lines, file).filter((place) => place !== start);
  const rival = Math.max(-1, ...others.map((place) => contextAt(anchor, file, place)));
  return { ...anchor, rival, fileHash: hashOf(file) };
}

/**
 * Finds anchored lines in the current file: the place with the same lines whose context matches better than any other place, now and when
 * the comment was written.
 * @returns null when they are no longer there, or could be another part of the file with the same lines
 */
export function findAnchor(anchor: Anchor, file: readonly string[]): LineRange | null {
  const count = anchor.lines.length;
  if (hashOf(file) === anchor.fileHash) return { line: anchor.line, endLine: anchor.line + count - 1 };
  const places = placesOf(anchor.lines, file).map((place) => ({ place, score: contextAt(anchor, file, place) }));
  const score = Math.max(-1, ...places.map((place) => place.score));
  const best = places.filter((place) => place.score === score);
  const [only] = best;
  if (only === undefined || best.length > 1 || score <= anchor.rival) return null;
  if (score === 0 && !isDistinctive(anchor.lines)) return null;
  return { line: only.place + 1, endLine: only.place + count };
}

function untilTooLong(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex(({ length }) => length > maxContextLength);
  return end === -1 ? lines : lines.slice(0, end);
}

/** Indexes at which the file has these lines. */
function placesOf(lines: readonly string[], file: readonly string[]): readonly number[] {
  const [first] = lines;
  const places: number[] = [];
  for (let at = 0; at + lines.length <= file.length; at += 1) {
    if (file[at] === first && lines.every((line, index) => file[at + index] === line)) places.push(at);
  }
  return places;
}

type Context = Pick<Anchor, "lines" | "before" | "after" | "fromStart" | "toEnd">;

/** The number of lines around this place that match the anchor's context, counted outward. Blank lines do not count. */
function contextAt(
  { lines, before, after, fromStart, toEnd }: Context,
  file: readonly string[],
  place: number,
): number {
  const end = place + lines.length;
  let score = 0;
  let above = 0;
  while (above < before.length && place > above && before.at(-1 - above) === file[place - 1 - above]) {
    if (file[place - 1 - above]?.trim() !== "") score += 1;
    above += 1;
  }
  if (fromStart && above === before.length && place === above) score += 1;
  let below = 0;
  while (below < after.length && end + below < file.length && after[below] === file[end + below]) {
    if (file[end + below]?.trim() !== "") score += 1;
    below += 1;
  }
  if (toEnd && below === after.length && end + below === file.length) score += 1;
  return score;
}

function isDistinctive(lines: readonly string[]): boolean {
  return lines.join("").replaceAll(/[^\p{L}\p{N}]/gu, "").length >= distinctiveLength;
}

function hashOf(file: readonly string[]): string {
  return sha256(file.map((line) => `${line}\n`).join(""));
}
