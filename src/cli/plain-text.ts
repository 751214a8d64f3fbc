import { stripVTControlCharacters } from "node:util";
import stringWidth from "fast-string-width";

/** Controls except newline and tab, and Unicode bidirectional overrides. */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Removes escape sequences and control characters, except newlines and tabs. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replace(hidden, "");
}

/** {@link plainText} on one line, so that a value cannot look like a line of the command. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** JSON that also escapes characters that a terminal may interpret. */
export function printableJson(value: unknown, options: { readonly oneLine?: boolean } = {}): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, options.oneLine ? 0 : 2).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    escaped,
  );
}

/** A table with a header; columns are as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(plainLine));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ""))));
  return lines
    .map((line) =>
      line
        .map((cell, column) => padTo(cell, widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** `1 fact`, `2 facts`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

export function sizeText(sizeBytes: number): string {
  return sizeBytes < 1_000_000 ? `${Math.ceil(sizeBytes / 1_000)} kB` : `${(sizeBytes / 1_000_000).toFixed(1)} MB`;
}

const ageSteps = [
  { unit: "y", ms: 365 * 86_400_000 },
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "m", ms: 60_000 },
] as const;

/** `3h`, or `now` for less than a minute. */
export function ageText(ms: number): string {
  const step = ageSteps.find((one) => ms >= one.ms);
  return step === undefined ? "now" : `${Math.floor(ms / step.ms)}${step.unit}`;
}

/** Columns of a line in a terminal: two for East Asian characters and emoji, none for combining marks. */
export function widthOf(line: string): number {
  return stringWidth(line);
}

export function padTo(line: string, columns: number): string {
  return line + " ".repeat(Math.max(columns - widthOf(line), 0));
}

/** Cuts a line to `columns`, with `…` at its end; never cuts a grapheme. */
export function cutEnd(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  return `${within(charactersOf(line), columns - 1).join("")}…`;
}

/** Cuts the start of a line instead of its end, for paths. */
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
