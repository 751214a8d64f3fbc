import { useEffect, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import type { CodePiece } from "./highlight.ts";
import { Scrollable } from "./scrollable.tsx";

/** What pieces of code look like; scopes that are not here are plain. */
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

/** Code with its colours, when its language is known; until it is coloured, and otherwise, it is plain. */
export function Code({ text, language }: { readonly text: string; readonly language: string }) {
  const pieces = usePieces(text, language);
  if (pieces === null) return <code>{text}</code>;
  return (
    <code>
      {pieces.map(({ text: part, scope }, index) => {
        const colour = scope === null ? undefined : colours[scope];
        // The pieces of a text have no identity but their place.
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

/** A block of code that scrolls sideways and can be copied. */
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

/** The highlighter is loaded with the first code that names its language. */
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
