import { useEffect, useMemo, useState } from "react";
import type { CodePiece } from "../session/highlight.ts";
import type { DiffLine } from "../session/line-diff.ts";
import { changedParts, type LinePiece, markPieces, piecesByLine } from "./review-lines.ts";

type Coloured = ReadonlyMap<number, readonly CodePiece[]>;

/** The pieces of each line, with its changed part marked, and coloured once the highlighter is loaded. */
export function useLinePieces(
  lines: readonly DiffLine[],
  language: string,
): (index: number) => readonly LinePiece[] | undefined {
  const parts = useMemo(() => changedParts(lines), [lines]);
  const [coloured, setColoured] = useState<{ readonly lines: readonly DiffLine[]; readonly rows: Coloured } | null>(
    null,
  );
  useEffect(() => {
    if (language === "") return;
    let wanted = true;
    void import("../session/highlight.ts").then(
      ({ highlight }) => {
        if (!wanted) return;
        const rows = new Map<number, readonly CodePiece[]>();
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
  const rows = coloured?.lines === lines ? coloured.rows : null;
  // Only for the lines that are rendered: a file can have 50,000.
  return (index) => {
    const pieces =
      rows?.get(index) ?? (parts.has(index) ? [{ text: lines[index]?.text ?? "", scope: null }] : undefined);
    return pieces && markPieces(pieces, parts.get(index));
  };
}
