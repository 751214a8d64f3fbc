import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from "react";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { languageOf } from "../session/tool-summary.ts";
import { Block } from "./block.tsx";
import { CommentForm, CommentView, linesWords } from "./comment-view.tsx";
import { GapRow } from "./gap-row.tsx";
import { PatchLineView } from "./patch-line.tsx";
import { changeWithoutLines, type PatchRow, splitRows, unifiedRows } from "./patch-lines.ts";
import { type CommentRange, placeComments, placeNameOf, placeOf, rangeOf } from "./review-lines.ts";
import { useGaps } from "./use-gaps.ts";
import { useLinePieces } from "./use-line-pieces.ts";
import type { Review } from "./use-review.ts";

/**
 * Rows per block. A block is rendered only while it is near the viewport: the fewer rows, the shorter the frame that renders them. Blocks are
 * in sections, which are rendered in the same way, so that a long file has few elements.
 */
const blockRows = 25;
const sectionRows = 1_000;
/** `leading-5`: a line's height before it is rendered. */
const lineHeightPx = 20;

/** A selected range, as the names of its first and last line, and the comment that is being written on it. */
interface Selection {
  readonly from: string;
  readonly to: string;
  readonly writing: CommentRange | null;
}

type BlockView = (start: number, end: number) => ReactNode;

/** The changed lines of a file, with its comments. */
export function ReviewPatch({
  path,
  previousPath,
  version,
  patch,
  comments,
  review,
  removable,
  split,
}: {
  readonly path: string;
  readonly previousPath: string | null;
  readonly version: string;
  readonly patch: string;
  readonly comments: readonly ReviewComment[];
  readonly review: Review;
  /** Whether removed lines are from the base; only those can have comments. */
  readonly removable: boolean;
  /** Side by side. */
  readonly split: boolean;
}) {
  const gaps = useGaps({ sessionId: review.sessionId, path, version, patch });
  const { lines } = gaps;
  const rows = useMemo(() => (split ? splitRows(lines) : unifiedRows(lines)), [lines, split]);
  const rowOf = useMemo(
    () => new Map(rows.flatMap((row, at) => indexesOf(row).map((index) => [index, at] as const))),
    [rows],
  );
  const pieces = useLinePieces(lines, languageOf(path));
  const { at, others } = useMemo(() => placeComments(lines, comments), [lines, comments]);
  // By name: an index changes when more lines are shown.
  const indexes = useMemo(() => new Map(lines.map((line, index) => [placeNameOf(line), index])), [lines]);
  const nameAt = (index: number): string => placeNameOf(lines[index]);
  const indexOf = (name: string): number => indexes.get(name) ?? -1;
  /** The key of a row, so that text typed in the row is kept when more lines are shown above it. */
  const rowName = ({ left, right }: PatchRow): string | null => {
    const line = lines[right ?? left ?? -1];
    return line?.gap === undefined ? placeNameOf(line) || null : `gap ${line.gap.index}`;
  };
  const [selection, setSelection] = useState<Selection | null>(null);
  const [focusedName, setFocusedName] = useState<string | null>(null);
  const first = useMemo(() => lines.findIndex((line) => placeOf(line) !== null), [lines]);
  const focused = focusedName === null ? first : (indexes.get(focusedName) ?? first);
  const selected = selection === null ? null : { from: indexOf(selection.from), to: indexOf(selection.to) };
  const root = useRef<HTMLDivElement>(null);
  const draft = useRef("");
  const { add } = review;
  const setFocused = (index: number): void => setFocusedName(nameAt(index));

  const write = (from: number, to: number): void => {
    const writing = rangeOf(lines, from, to);
    if (writing === null || (writing.side === "old" && !removable)) return;
    add.reset();
    draft.current = "";
    setFocused(to);
    setSelection({ from: nameAt(from), to: nameAt(to), writing });
  };
  const close = (): void => {
    setSelection(null);
    focusLine(root.current, focused);
  };
  const move = (step: number, extending: boolean): void => {
    let next = focused + step;
    while (lines[next]?.kind === "hunk") next += step;
    if (lines[next] === undefined) return;
    setFocused(next);
    setSelection(extending ? { from: selection?.from ?? nameAt(focused), to: nameAt(next), writing: null } : null);
    focusLine(root.current, next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Ignores keys in a comment between the lines.
    if (!(event.target instanceof HTMLElement) || event.target.dataset["line"] === undefined) return;
    const { key, shiftKey } = event;
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1, shiftKey);
    else if (key === "c" || key === "Enter") write(selected?.from ?? focused, focused);
    else if (key === "Escape" && selection !== null) setSelection(null);
    else return;
    event.preventDefault();
  };
  const onLine = (index: number, shiftKey: boolean): void =>
    write(shiftKey ? (selected?.from ?? focused) : index, index);
  const submit = (body: string): void => {
    const range = selection?.writing;
    if (range === null || range === undefined) return;
    const commented = range.side === "old" ? (previousPath ?? path) : path;
    add.mutate({ path: commented, body, range }, { onSuccess: close });
  };
  const lineView = (index: number | null, side: "both" | "old" | "new") => {
    const line = index === null ? undefined : lines[index];
    if (index === null || line === undefined) return <div className="bg-panel" />;
    if (line.gap !== undefined) return <GapRow line={line} gap={line.gap} gaps={gaps} />;
    return (
      <PatchLineView
        {...{ line, index, side, onLine }}
        pieces={pieces(index)}
        selected={isSelected(selected, index)}
        focusable={index === focused}
        onFocus={setFocused}
      />
    );
  };
  const form = (writing: CommentRange) => (
    <CommentForm
      label={`Comment on ${linesWords(writing).toLowerCase()}`}
      submit="Add comment"
      busy={add.isPending}
      error={add.error}
      draft={{
        read: () => draft.current,
        write: (text) => {
          draft.current = text;
        },
      }}
      onCancel={close}
      onSubmit={submit}
    />
  );
  /** Comments on the lines of a row, and the form of the comment that is being written. */
  const notes = (row: PatchRow) => {
    const own = indexesOf(row);
    const here = own.flatMap((index) => at.get(index) ?? []);
    const writing = selected !== null && own.includes(selected.to) ? (selection?.writing ?? null) : null;
    if (here.length === 0 && writing === null) return null;
    return (
      <div className="sticky left-0 w-[100cqw] max-w-3xl px-3">
        {here.map((comment) => (
          <CommentView key={comment.commentId} comment={comment} review={review} />
        ))}
        {writing !== null && form(writing)}
      </div>
    );
  };

  /** Whether these rows are rendered even if they are not visible. */
  const isKept = (start: number, end: number): boolean =>
    [focused, ...(selected === null ? [] : [selected.to])].some((index) => {
      const row = rowOf.get(index) ?? -1;
      return row >= start && row < end;
    });
  const rowView = (row: PatchRow, position: number) => {
    const { left, right } = row;
    const isWhole = !split || (left !== null && lines[left]?.kind === "hunk");
    return (
      <div key={rowName(row) ?? position}>
        {isWhole ? (
          lineView(left, "both")
        ) : (
          <div className="grid grid-cols-2 divide-x divide-line">
            {lineView(left, "old")}
            {lineView(right, "new")}
          </div>
        )}
        {notes(row)}
      </div>
    );
  };
  /** Blocks of `size` rows between `start` and `end`. */
  const blocks = (start: number, end: number, { size, view }: { size: number; view: BlockView }) =>
    Array.from({ length: Math.ceil((end - start) / size) }, (_, block) => {
      const from = start + block * size;
      const to = Math.min(end, from + size);
      return (
        <Block key={from} heightPx={(to - from) * lineHeightPx} kept={isKept(from, to)}>
          {() => view(from, to)}
        </Block>
      );
    });
  const rowViews: BlockView = (start, end) => rows.slice(start, end).map((row, offset) => rowView(row, start + offset));
  const sectionView: BlockView = (start, end) => blocks(start, end, { size: blockRows, view: rowViews });
  if (lines.length === 0)
    return <p className="bg-well px-3 py-2 text-xs text-ink-faint">{changeWithoutLines(patch)}</p>;
  return (
    <div ref={root} className="border-t border-line bg-well">
      {others.length > 0 && (
        <div className="px-3 py-1">
          {others.map((comment) => (
            <CommentView key={comment.commentId} comment={comment} review={review} apart />
          ))}
        </div>
      )}
      {/* The line of this comment is no longer among the changes. */}
      {selection !== null && selection.writing !== null && selected?.to === -1 && (
        <div className="max-w-3xl px-3">{form(selection.writing)}</div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the buttons in it */}
      <div role="group" aria-label={`Changes of ${path}`} className="@container overflow-x-auto" onKeyDown={onKeyDown}>
        <div
          className={split ? "py-1 font-mono text-xs leading-5" : "w-max min-w-full py-1 font-mono text-xs leading-5"}
        >
          {blocks(0, rows.length, { size: sectionRows, view: sectionView })}
        </div>
      </div>
    </div>
  );
}

function indexesOf({ left, right }: PatchRow): readonly number[] {
  return [...new Set([left, right])].filter((index) => index !== null);
}

function isSelected(range: { readonly from: number; readonly to: number } | null, index: number): boolean {
  if (range === null) return false;
  const { from, to } = range;
  return index >= Math.min(from, to) && index <= Math.max(from, to);
}

function focusLine(root: HTMLElement | null, index: number): void {
  // After it is rendered.
  requestAnimationFrame(() => {
    const button = root?.querySelector<HTMLElement>(`[data-line="${index}"]`);
    button?.focus({ preventScroll: true });
    button?.scrollIntoView({ block: "nearest" });
  });
}
