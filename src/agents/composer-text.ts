/** What is written in these rows of a composer, without its sign and the indent below it; "" when there is nothing. */
export function typedText(rows: readonly string[], sign: RegExp): string {
  const text = rows.map((row, index) => (index === 0 ? row.replace(sign, " ") : row).replace(/^ {1,2}/, "").trimEnd());
  return text.join("\n").trim();
}

/** A composer shows a part of a longer text: each clearing takes what it shows, and some more. */
export const moreRows = 5;

/** Ctrl+U and Ctrl+K, each of which empties the line on its side of the cursor, and then takes the line end there. */
export function clearRows(text: string): string {
  const keys = 2 * (text.split("\n").length + moreRows);
  return "\x15".repeat(keys) + "\x0b".repeat(keys);
}
