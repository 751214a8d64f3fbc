/** The first lines of a page that is made from the source. */
export function generatedHead(title: string, lead: string): string {
  return `<!-- Made by \`node tools/reference.ts\` from the source; edits here are lost. -->\n\n# ${title}\n\n${lead}\n`;
}

/** A table; what stands in its cells is on one line. */
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

/** As code, unless there is nothing. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}
