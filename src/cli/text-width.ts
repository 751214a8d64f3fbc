import stringWidth from "fast-string-width";

/** Columns that a line takes in a terminal: two for most of East Asia's characters and for emoji, none for marks on a letter. */
export function widthOf(line: string): number {
  return stringWidth(line);
}

/** The line, and spaces up to so many columns. */
export function padTo(line: string, columns: number): string {
  return line + " ".repeat(Math.max(columns - widthOf(line), 0));
}

/** At most so many columns of it, with `…` where its end is missing. Nothing that is seen as one character is cut in two. */
export function cutEnd(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  return `${within(charactersOf(line), columns - 1).join("")}…`;
}

/** The same with its beginning cut off: the end of a path says more. */
export function cutStart(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  return `…${within(charactersOf(line).toReversed(), columns - 1)
    .toReversed()
    .join("")}`;
}

function charactersOf(line: string): string[] {
  const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
  return Array.from(segmenter.segment(line), ({ segment }) => segment);
}

function within(characters: readonly string[], columns: number): readonly string[] {
  let left = columns;
  const end = characters.findIndex((character) => (left -= widthOf(character)) < 0);
  return end === -1 ? characters : characters.slice(0, end);
}
