import { memo } from "react";
import { codeColour } from "../session/code-block.tsx";
import { classNames } from "../ui/class-names.ts";
import type { PatchLine } from "./patch-lines.ts";
import { type LinePiece, placeOf } from "./review-lines.ts";

const looks = {
  context: "",
  added: "bg-diff-added-soft",
  removed: "bg-danger-soft",
  hunk: "bg-panel text-ink-faint",
} as const;
const signs = { context: " ", added: "+", removed: "−", hunk: "" } as const;
/** For screen readers, instead of the colour. */
const words = { context: "", added: "added: ", removed: "removed: ", hunk: "" } as const;

interface LineProps {
  readonly line: PatchLine;
  readonly pieces: readonly LinePiece[] | undefined;
  readonly index: number;
  readonly selected: boolean;
  readonly focusable: boolean;
  /** Side by side: long lines wrap. `old`: the copy of an unchanged line on the left, which takes no comments. */
  readonly side: "both" | "old" | "new";
  readonly onLine: (index: number, shiftKey: boolean) => void;
  readonly onFocus: (index: number) => void;
}

/** A line of a patch. Its line number is a button for commenting on it. */
export const PatchLineView = memo(function PatchLineView(props: LineProps) {
  const { line, pieces, index, selected, focusable, side, onLine, onFocus } = props;
  const { kind, text, number, oldNumber } = line;
  const isCopy = side === "old" && kind === "context";
  const isLine = placeOf(line) !== null && !isCopy;
  return (
    <div className={classNames("flex", selected ? "bg-accent-soft" : looks[kind])} aria-hidden={isCopy || undefined}>
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
        <span aria-hidden className="w-12 shrink-0 pr-2 text-right text-ink-faint select-none">
          {isCopy && oldNumber}
        </span>
      )}
      <span
        aria-hidden
        className={classNames("w-4 shrink-0 select-none", kind === "added" ? "text-diff-added" : "text-danger")}
      >
        {signs[kind]}
      </span>
      <span
        className={classNames("pr-3", side === "both" ? "whitespace-pre" : "min-w-0 whitespace-pre-wrap wrap-anywhere")}
      >
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
