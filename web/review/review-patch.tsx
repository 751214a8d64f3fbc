import { type KeyboardEvent, memo, useEffect, useMemo, useRef, useState } from "react";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { codeColour } from "../session/code-block.tsx";
import { type DiffLine, diffOfPatch } from "../session/line-diff.ts";
import { languageOf } from "../session/tool-summary.ts";
import { classNames } from "../ui/class-names.ts";
import { Block } from "./block.tsx";
import { CommentForm, CommentView, linesWords } from "./comment-view.tsx";
import {
  type CommentRange,
  changedParts,
  type LinePiece,
  markPieces,
  piecesByLine,
  placeComments,
  placeOf,
  rangeOf,
} from "./review-lines.ts";
import type { Review } from "./use-review.ts";

/** A block is one piece of the page that is rendered only near the visible part. */
const blockLines = 100;
/** `leading-5`: a line's height before it is rendered. */
const lineHeightPx = 20;

/** A range that is being selected, from the first line to the last, and whether its comment is being written. */
interface Selection {
  readonly from: number;
  readonly to: number;
  readonly writing: CommentRange | null;
}

/** The changed lines of a file, with its comments. */
export function ReviewPatch({
  path,
  previousPath,
  patch,
  comments,
  review,
  removable,
}: {
  readonly path: string;
  readonly previousPath: string | null;
  readonly patch: string;
  readonly comments: readonly ReviewComment[];
  readonly review: Review;
  /** Whether removed lines are those of the base, on which one can comment. */
  readonly removable: boolean;
}) {
  const lines = useMemo(() => diffOfPatch(patch), [patch]);
  const rows = useRows(lines, languageOf(path));
  const { at, others } = useMemo(() => placeComments(lines, comments), [lines, comments]);
  const [selection, setSelection] = useState<Selection | null>(null);
  const [focused, setFocused] = useState(() => lines.findIndex((line) => placeOf(line) !== null));
  const root = useRef<HTMLDivElement>(null);
  const { add } = review;

  const write = (from: number, to: number): void => {
    const writing = rangeOf(lines, from, to);
    if (writing === null || (writing.side === "old" && !removable)) return;
    add.reset();
    setFocused(to);
    setSelection({ from, to, writing });
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
    setSelection(extending ? { from: selection?.from ?? focused, to: next, writing: null } : null);
    focusLine(root.current, next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Not those of a comment between the lines.
    if (!(event.target instanceof HTMLElement) || event.target.dataset["line"] === undefined) return;
    const { key, shiftKey } = event;
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1, shiftKey);
    else if (key === "c" || key === "Enter") write(selection?.from ?? focused, focused);
    else if (key === "Escape" && selection !== null) setSelection(null);
    else return;
    event.preventDefault();
  };
  const onLine = (index: number, shiftKey: boolean): void =>
    write(shiftKey ? (selection?.from ?? focused) : index, index);
  const submit = (body: string): void => {
    const range = selection?.writing;
    if (range === null || range === undefined) return;
    const commented = range.side === "old" ? (previousPath ?? path) : path;
    add.mutate({ path: commented, body, range }, { onSuccess: close });
  };

  const starts = Array.from({ length: Math.ceil(lines.length / blockLines) }, (_, block) => block * blockLines);
  if (lines.length === 0) return <p className="px-3 py-2 text-xs text-ink-faint">No lines to show.</p>;
  return (
    <div ref={root} className="border-t border-line bg-well">
      {others.length > 0 && (
        <div className="px-3 py-1">
          {others.map((comment) => (
            <CommentView key={comment.commentId} comment={comment} review={review} apart />
          ))}
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the buttons in it */}
      <div role="group" aria-label={`Changes of ${path}`} className="@container overflow-x-auto" onKeyDown={onKeyDown}>
        <div className="w-max min-w-full py-1 font-mono text-xs leading-5">
          {starts.map((start) => {
            const end = Math.min(start + blockLines, lines.length);
            const isNear = (index: number): boolean => index >= start && index < end;
            return (
              <Block
                key={start}
                heightPx={(end - start) * lineHeightPx}
                kept={isNear(focused) || (selection !== null && isNear(selection.to))}
              >
                {() =>
                  lines.slice(start, end).map((line, offset) => {
                    const index = start + offset;
                    const here = at.get(index);
                    const writing = selection?.to === index ? selection.writing : null;
                    return (
                      <div key={index}>
                        <Line
                          line={line}
                          pieces={rows[index]}
                          index={index}
                          selected={isSelected(selection, index)}
                          focusable={index === focused}
                          onLine={onLine}
                          onFocus={setFocused}
                        />
                        {(here !== undefined || writing !== null) && (
                          <div className="sticky left-0 w-[100cqw] max-w-3xl px-3">
                            {here?.map((comment) => (
                              <CommentView key={comment.commentId} comment={comment} review={review} />
                            ))}
                            {writing !== null && (
                              <CommentForm
                                label={`Comment on ${linesWords(writing).toLowerCase()}`}
                                submit="Add comment"
                                busy={add.isPending}
                                error={add.error}
                                onCancel={close}
                                onSubmit={submit}
                              />
                            )}
                          </div>
                        )}
                      </div>
                    );
                  })
                }
              </Block>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function isSelected(selection: Selection | null, index: number): boolean {
  if (selection === null) return false;
  const { from, to } = selection;
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

const looks = {
  context: "",
  added: "bg-diff-added-soft",
  removed: "bg-danger-soft",
  hunk: "bg-panel text-ink-faint",
} as const;
const signs = { context: " ", added: "+", removed: "−", hunk: "" } as const;
/** For screen readers, instead of the colour. */
const words = { context: "", added: "added: ", removed: "removed: ", hunk: "" } as const;

const Line = memo(function Line(props: {
  readonly line: DiffLine;
  readonly pieces: readonly LinePiece[] | undefined;
  readonly index: number;
  readonly selected: boolean;
  readonly focusable: boolean;
  readonly onLine: (index: number, shiftKey: boolean) => void;
  readonly onFocus: (index: number) => void;
}) {
  const { line, pieces, index, selected, focusable, onLine, onFocus } = props;
  const { kind, text, number } = line;
  const isLine = placeOf(line) !== null;
  return (
    <div className={classNames("flex", selected ? "bg-accent-soft" : looks[kind])}>
      {isLine ? (
        <button
          type="button"
          data-line={index}
          aria-label={`Comment on ${kind === "removed" ? "removed " : ""}line ${number}`}
          tabIndex={focusable ? 0 : -1}
          onFocus={() => onFocus(index)}
          onClick={(event) => onLine(index, event.shiftKey)}
          className="w-12 shrink-0 cursor-pointer pr-2 text-right text-ink-faint select-none hover:bg-accent-fill hover:text-accent-ink"
        >
          {number}
        </button>
      ) : (
        <span aria-hidden className="w-12 shrink-0" />
      )}
      <span
        aria-hidden
        className={classNames("w-4 shrink-0 select-none", kind === "added" ? "text-diff-added" : "text-danger")}
      >
        {signs[kind]}
      </span>
      <span className="pr-3 whitespace-pre">
        {words[kind] !== "" && <span className="sr-only">{words[kind]}</span>}
        {pieces === undefined
          ? text
          : pieces.map(({ text: part, scope, changed }, at) => (
              <span
                key={at}
                className={classNames(codeColour(scope), changed && "underline decoration-2 underline-offset-3")}
              >
                {part}
              </span>
            ))}
      </span>
    </div>
  );
});

/** The pieces of each line: coloured once the highlighter is loaded, and with the part of it that changed. */
function useRows(lines: readonly DiffLine[], language: string): readonly (readonly LinePiece[] | undefined)[] {
  const parts = useMemo(() => changedParts(lines), [lines]);
  const [coloured, setColoured] = useState<{
    readonly lines: readonly DiffLine[];
    readonly rows: ReadonlyMap<number, Parameters<typeof markPieces>[0]>;
  } | null>(null);
  useEffect(() => {
    if (language === "") return;
    let wanted = true;
    void import("../session/highlight.ts").then(
      ({ highlight }) => {
        if (!wanted) return;
        const rows = new Map<number, Parameters<typeof markPieces>[0]>();
        for (const kind of ["removed", "added"] as const) {
          const indexes = lines.flatMap((line, index) =>
            line.kind === kind || line.kind === "context" ? [index] : [],
          );
          const pieces = highlight(indexes.map((index) => lines[index]?.text ?? "").join("\n"), language);
          if (pieces === null) return;
          for (const [at, row] of piecesByLine(pieces).entries()) rows.set(indexes[at] ?? -1, row);
        }
        setColoured({ lines, rows });
      },
      () => undefined, // it stays plain
    );
    return () => {
      wanted = false;
    };
  }, [lines, language]);
  return useMemo(() => {
    const rows = coloured?.lines === lines ? coloured.rows : null;
    return lines.map(({ text }, index) => {
      const pieces = rows?.get(index) ?? (parts.has(index) ? [{ text, scope: null }] : undefined);
      return pieces && markPieces(pieces, parts.get(index));
    });
  }, [lines, parts, coloured]);
}
