/** Markup; what comes from outside was escaped on its way into it. Made by {@link html} alone. */
export interface Html {
  readonly markup: string;
}

/** What may stand in a place of {@link html}: text is escaped, null is nothing. */
export type HtmlPart = Html | string | null | readonly HtmlPart[];

/** Markup with places. They stand in text and in quoted attributes, never in a script, a style or an attribute's name. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return { markup: strings.map((string, index) => string + textOf(parts[index] ?? null)).join("") };
}

function textOf(part: HtmlPart): string {
  if (part === null) return "";
  if (typeof part === "string") return escapeHtml(part);
  return "markup" in part ? part.markup : part.map(textOf).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
