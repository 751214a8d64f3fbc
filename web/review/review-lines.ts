import type { CommentSide, ReviewComment } from "../../src/wire/reviews.ts";
import type { CodePiece } from "../session/highlight.ts";
import type { DiffLine } from "../session/line-diff.ts";
import { runOf } from "./patch-lines.ts";

/** Lines on one side of a file, with their text. */
export interface CommentRange {
  readonly side: CommentSide;
  readonly line: number;
  readonly endLine: number;
  readonly snippet: string;
}

/** The side and number of a line; null if it cannot have comments. */
export function placeOf({ kind, number }: DiffLine): { readonly side: CommentSide; readonly line: number } | null {
  if (kind === "hunk" || number === null) return null;
  return { side: kind === "removed" ? "old" : "new", line: number };
}

/** A line's side and number as text; empty for a line that takes no comments. */
export function placeNameOf(line: DiffLine | undefined): string {
  const place = line === undefined ? null : placeOf(line);
  return place === null ? "" : `${place.side} ${place.line}`;
}

/** The consecutive lines from one index to another, on the side of the first. */
export function rangeOf(lines: readonly DiffLine[], from: number, to: number): CommentRange | null {
  const first = lines[from];
  const start = first === undefined ? null : placeOf(first);
  if (first === undefined || start === null) return null;
  const step = to < from ? -1 : 1;
  const picked = [first.text];
  let last = start.line;
  for (let at = from + step; step > 0 ? at <= to : at >= to; at += step) {
    const line = lines[at];
    const place = line === undefined ? null : placeOf(line);
    if (line === undefined || line.kind === "hunk") break;
    if (place?.side !== start.side) continue;
    if (place.line !== last + step) break;
    last = place.line;
    picked.push(line.text);
  }
  const inOrder = step > 0 ? picked : picked.toReversed();
  return {
    side: start.side,
    line: Math.min(start.line, last),
    endLine: Math.max(start.line, last),
    snippet: inOrder.join("\n"),
  };
}

/** Comments by the index of the line above them; `others` are not on any line of this patch. */
export function placeComments(
  lines: readonly DiffLine[],
  comments: readonly ReviewComment[],
): { readonly at: ReadonlyMap<number, readonly ReviewComment[]>; readonly others: readonly ReviewComment[] } {
  const indexes = new Map(
    lines.flatMap((line, index) => (placeOf(line) === null ? [] : [[placeNameOf(line), index] as const])),
  );
  const at = new Map<number, ReviewComment[]>();
  const others: ReviewComment[] = [];
  for (const comment of comments) {
    const index = comment.outdated ? undefined : indexes.get(`${comment.side} ${comment.endLine}`);
    if (index === undefined) others.push(comment);
    else at.set(index, [...(at.get(index) ?? []), comment]);
  }
  return { at, others };
}

/** The part of a line that differs from its counterpart. */
export interface ChangedPart {
  readonly start: number;
  readonly end: number;
}

/** Longer runs are rewritten text, in which counterparts match only by chance. */
const maxPaired = 40;
/** If most of the line differs, marking the part adds nothing to the line's colour. */
const maxShare = 0.7;

/** For runs with equal numbers of removed and added lines: the part of each line that differs, by index. */
export function changedParts(lines: readonly DiffLine[]): ReadonlyMap<number, ChangedPart> {
  const parts = new Map<number, ChangedPart>();
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, "removed");
    const added = runOf(lines, at + removed, "added");
    if (removed > 0 && removed === added && removed <= maxPaired) {
      for (let index = at; index < at + removed; index += 1) {
        const before = lines[index]?.text ?? "";
        const after = lines[index + removed]?.text ?? "";
        const [head, tail] = sharedEnds(before, after);
        note(parts, index, { start: head, end: before.length - tail }, before);
        note(parts, index + removed, { start: head, end: after.length - tail }, after);
      }
    }
    at += Math.max(1, removed + added);
  }
  return parts;
}

function note(parts: Map<number, ChangedPart>, index: number, part: ChangedPart, text: string): void {
  const length = part.end - part.start;
  if (length > 0 && length <= text.trim().length * maxShare) parts.set(index, part);
}

function sharedEnds(before: string, after: string): readonly [number, number] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [head, tail];
}

/** Highlighted text by line. */
export function piecesByLine(pieces: readonly CodePiece[]): readonly (readonly CodePiece[])[] {
  const lines: CodePiece[][] = [[]];
  for (const { text, scope } of pieces) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ text: part, scope });
    }
  }
  return lines;
}

/** A piece of a line, and whether it is in the changed part. */
export interface LinePiece extends CodePiece {
  readonly changed: boolean;
}

/** Splits a line's pieces at the ends of its changed part. */
export function markPieces(pieces: readonly CodePiece[], part: ChangedPart | undefined): readonly LinePiece[] {
  if (part === undefined) return pieces.map((piece) => ({ ...piece, changed: false }));
  let at = 0;
  return pieces.flatMap(({ text, scope }) => {
    const from = at;
    at += text.length;
    const cuts = [part.start - from, part.end - from].map((cut) => Math.min(Math.max(cut, 0), text.length));
    const [first = 0, second = 0] = cuts;
    const parts = [
      { text: text.slice(0, first), scope, changed: false },
      { text: text.slice(first, second), scope, changed: true },
      { text: text.slice(second), scope, changed: false },
    ];
    return parts.filter((piece) => piece.text !== "");
  });
}
