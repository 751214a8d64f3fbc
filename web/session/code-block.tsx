import { useEffect, useState } from "react";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Scrollable } from "../ui/page.tsx";
import type { CodePiece } from "./highlight.ts";
import type { DiffLine } from "./line-diff.ts";

const colours: Readonly<Record<string, string>> = {
  keyword: "text-code-keyword",
  built_in: "text-code-name",
  type: "text-code-name",
  literal: "text-code-value",
  number: "text-code-value",
  string: "text-code-string",
  regexp: "text-code-string",
  comment: "text-ink-faint italic",
  meta: "text-ink-faint",
  title: "text-code-title",
  function: "text-code-title",
  attr: "text-code-name",
  attribute: "text-code-name",
  tag: "text-code-keyword",
  name: "text-code-keyword",
  variable: "text-code-name",
  symbol: "text-code-value",
  section: "text-code-title",
  addition: "text-diff-added",
  deletion: "text-danger",
};

/** The class that colours text of this scope; undefined for plain text. */
export function codeColour(scope: string | null): string | undefined {
  return scope === null ? undefined : colours[scope];
}

/** Code, highlighted once its language is loaded. */
export function Code({ text, language }: { readonly text: string; readonly language: string }) {
  const pieces = usePieces(text, language);
  if (pieces === null) return <code>{text}</code>;
  return (
    <code>
      {pieces.map(({ text: part, scope }, index) => {
        const colour = codeColour(scope);
        return colour === undefined ? (
          part
        ) : (
          <span key={index} className={colour}>
            {part}
          </span>
        );
      })}
    </code>
  );
}

export function CodeBlock({ text, language }: { readonly text: string; readonly language: string }) {
  return (
    <div className="my-2 overflow-hidden rounded-lg border border-line bg-well">
      <div className="flex h-7 items-center justify-between pr-1 pl-3 pointer-coarse:h-10">
        <span className="font-mono text-2xs text-ink-faint">{language}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      <Scrollable label={language === "" ? "Code" : `Code, ${language}`} className="overflow-x-auto">
        <pre className="px-3 pb-3 font-mono text-xs leading-5">
          <Code text={text} language={language} />
        </pre>
      </Scrollable>
    </div>
  );
}

/** Loads the highlighter with the first code that names a language. */
function usePieces(text: string, language: string): readonly CodePiece[] | null {
  const [found, setFound] = useState<{ readonly text: string; readonly pieces: readonly CodePiece[] | null } | null>(
    null,
  );
  useEffect(() => {
    if (language === "") return;
    let wanted = true;
    void import("./highlight.ts").then(
      ({ highlight }) => {
        if (wanted) setFound({ text, pieces: highlight(text, language) });
      },
      () => undefined, // it stays plain
    );
    return () => {
      wanted = false;
    };
  }, [text, language]);
  return found?.text === text ? found.pieces : null;
}

const looks: Readonly<Record<DiffLine["kind"], string>> = {
  context: "",
  added: "bg-diff-added-soft",
  removed: "bg-danger-soft",
  hunk: "bg-panel text-ink-faint",
};
const signs: Readonly<Record<DiffLine["kind"], string>> = { context: " ", added: "+", removed: "−", hunk: "" };
/** For screen readers, instead of the colour. */
const words: Readonly<Record<DiffLine["kind"], string>> = {
  context: "",
  added: "added: ",
  removed: "removed: ",
  hunk: "",
};

const firstLines = 300;

/** Long diffs are cut at first. */
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
