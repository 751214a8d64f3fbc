import { useMemo } from "react";
import { classNames } from "../ui/class-names.ts";
import { type AnsiStyle, plainStyle, readAnsi } from "./ansi.ts";

/** Black and white are the text's own colour: one of them cannot be read on any ground. */
const colours = [
  "",
  "text-danger",
  "text-diff-added",
  "text-lamp",
  "text-code-name",
  "text-code-keyword",
  "text-code-title",
  "",
] as const;
const grounds = [
  "bg-line",
  "bg-danger-soft",
  "bg-diff-added-soft",
  "bg-lamp-soft",
  "bg-line",
  "bg-line",
  "bg-accent-soft",
  "bg-line",
] as const;

/** An output of a program with its colours. */
export function AnsiText({ text }: { readonly text: string }) {
  const pieces = useMemo(() => readAnsi(text), [text]);
  return (
    <code>
      {pieces.map(({ text: part, style }, index) =>
        style === plainStyle ? (
          part
        ) : (
          // The pieces of a text have no identity but their place.
          <span key={index} className={classOf(style)}>
            {part}
          </span>
        ),
      )}
    </code>
  );
}

function classOf({ colour, background, bold, dim, italic, underline, struck }: AnsiStyle): string {
  return classNames(
    colour === null ? dim && "text-ink-faint" : colours[colour],
    background !== null && grounds[background],
    bold && "font-semibold",
    italic && "italic",
    underline && "underline",
    struck && "line-through",
  );
}
