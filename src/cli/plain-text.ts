import { stripVTControlCharacters } from "node:util";
import { padTo, widthOf } from "./text-width.ts";

/** Controls but newline and tab, and the marks that reverse the order of what follows (Unicode bidirectional overrides). */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** `text` as a terminal may safely show it: escape sequences and control characters gone, newlines and tabs kept. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replace(hidden, "");
}

/** {@link plainText} on one line: titles, names and messages cannot pretend to be lines of ours. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** JSON for a terminal or a pipe: what JSON leaves unescaped and a terminal may act on is escaped too. */
export function printableJson(value: unknown, options: { readonly oneLine?: boolean } = {}): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, options.oneLine ? 0 : 2).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    escaped,
  );
}

/** Columns under a headline, as wide as their widest cell. */
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

/** A file's size for a person. */
export function sizeText(sizeBytes: number): string {
  return sizeBytes < 1_000_000 ? `${Math.ceil(sizeBytes / 1_000)} kB` : `${(sizeBytes / 1_000_000).toFixed(1)} MB`;
}
