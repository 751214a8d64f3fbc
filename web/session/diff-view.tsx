import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import type { DiffLine } from "./line-diff.ts";
import { Scrollable } from "./scrollable.tsx";

const looks: Readonly<Record<DiffLine["kind"], string>> = {
  context: "",
  added: "bg-diff-added-soft",
  removed: "bg-danger-soft",
  hunk: "bg-panel text-ink-faint",
};
const signs: Readonly<Record<DiffLine["kind"], string>> = { context: " ", added: "+", removed: "−", hunk: "" };
/** Read out before a line, where its colour says nothing. */
const words: Readonly<Record<DiffLine["kind"], string>> = {
  context: "",
  added: "added: ",
  removed: "removed: ",
  hunk: "",
};

/** Lines that are shown at first. */
const firstLines = 300;

/** A diff, line by line, coloured; long ones begin with a part. */
export function DiffView({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) {
  const [shown, setShown] = useState(firstLines);
  if (lines.length === 0) return <p className="px-3 py-2 text-xs text-ink-faint">No lines to show.</p>;
  return (
    <div>
      <Scrollable label={label} className="overflow-x-auto">
        <pre className="w-max min-w-full py-1 font-mono text-xs leading-5">
          {lines.slice(0, shown).map((line, index) => (
            <div key={index} className={classNames("flex", looks[line.kind])}>
              <span aria-hidden className="w-11 shrink-0 pr-2 text-right text-ink-faint select-none">
                {line.number}
              </span>
              <span
                aria-hidden
                className={classNames(
                  "w-4 shrink-0 select-none",
                  line.kind === "added" ? "text-diff-added" : "text-danger",
                )}
              >
                {signs[line.kind]}
              </span>
              <span className="pr-3 whitespace-pre">
                {words[line.kind] !== "" && <span className="sr-only">{words[line.kind]}</span>}
                {line.text}
              </span>
            </div>
          ))}
        </pre>
      </Scrollable>
      {lines.length > shown && (
        <div className="border-t border-line px-3 py-1.5">
          <Button size="sm" variant="ghost" onClick={() => setShown((count) => count + 2_000)}>
            Show {Math.min(2_000, lines.length - shown)} more lines
          </Button>
        </div>
      )}
    </div>
  );
}

/** How many lines came and went. */
export function DiffCount({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span className="shrink-0 font-mono text-2xs">
      <span className="sr-only">
        {added} lines added, {removed} removed
      </span>
      <span aria-hidden className="text-diff-added">
        +{added}
      </span>{" "}
      <span aria-hidden className="text-danger">
        −{removed}
      </span>
    </span>
  );
}
