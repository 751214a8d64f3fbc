/** The first lines of a generated page. */
export function generatedHead(title: string, lead: string): string {
  return `<!-- Generated from the source by \`node tools/reference.ts\`. Do not edit. -->\n\n# ${title}\n\n${lead}\n`;
}

/** A table; each cell becomes one line. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(columns), `|${columns.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

function cell(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|")
    .trim();
}

/** As code, unless it is empty. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}
