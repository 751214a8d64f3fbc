import { padTo, widthOf } from "./plain-text.ts";

/**
 * Lines in a box. In a terminal that is too narrow, without its sides: a line that wraps between them could not be copied.
 * @param columns of the terminal; null when unknown
 */
export function boxed(lines: readonly string[], columns: number | null): string {
  const width = Math.max(...lines.map(widthOf));
  if (columns !== null && width + 4 > columns) {
    const rule = "─".repeat(columns);
    return [rule, ...lines, rule].join("\n");
  }
  const edge = "─".repeat(width + 2);
  return [`╭${edge}╮`, ...lines.map((line) => `│ ${padTo(line, width)} │`), `╰${edge}╯`].join("\n");
}

/** Light modules between a scanner and a dark background; two are enough for phones. */
const quietModules = 2;

/** A QR code of half blocks, for a dark terminal. Null when the terminal is too narrow for it. */
export async function qrCode(text: string, columns: number | null): Promise<string | null> {
  const { renderUnicodeCompact } = await import("uqr"); // most starts need none
  const code = renderUnicodeCompact(text, { border: quietModules });
  return columns !== null && widthOf(code.split("\n", 1)[0] ?? "") > columns ? null : code;
}
