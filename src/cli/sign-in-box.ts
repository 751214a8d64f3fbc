import { padTo, widthOf } from "./plain-text.ts";

/**
 * Lines in a box. In a terminal that is too narrow, the box has no sides, because a wrapped line between them could not be copied.
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

/** Light margin around the code on a dark background; two modules are enough for phones. */
const quietModules = 2;

/** A QR code made of half blocks, for a dark terminal. Null if the terminal is too narrow. */
export async function qrCode(text: string, columns: number | null): Promise<string | null> {
  const { renderUnicodeCompact } = await import("uqr"); // loaded here, because most starts show no QR code
  const code = renderUnicodeCompact(text, { border: quietModules });
  return columns !== null && widthOf(code.split("\n", 1)[0] ?? "") > columns ? null : code;
}
