/** Shows characters that a terminal or an agent does not read as text, or that hide text. Joiners are kept, because emoji contain them. */
const hidden = /(?!\u200d)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** In prose, more joiners and marks are part of the text. */
const hiddenInProse = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The text on one line, with every hidden character written as its code. */
export function visibleLine(text: string): string {
  return visible(text, hidden);
}

/** The text with `@` replaced by a look-alike that no agent reads as a mention. */
export function withoutMention(text: string): string {
  return text.replaceAll("@", "＠");
}

/** Markdown that quotes prose, every line after `> `, so that no line of it starts something else. */
export function quotedProse(text: string): readonly string[] {
  return text
    .replaceAll(/\r\n?/g, "\n")
    .split("\n")
    .map((line) => visible(line, hiddenInProse))
    .map((line) => (line === "" ? ">" : `> ${line}`));
}

/** Markdown that quotes lines of code in a fence longer than any in them. A longer text is cut. */
export function fencedLines(
  lines: readonly string[],
  { language, maxLength }: { readonly language: string; readonly maxLength: number },
): string {
  const whole = lines.map(visibleLine).join("\n");
  const text = whole.length > maxLength ? `${whole.slice(0, maxLength).toWellFormed()}\n[cut]` : whole;
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function visible(text: string, unwanted: RegExp): string {
  return text
    .toWellFormed()
    .replace(unwanted, (found) =>
      found === "\t" ? found : `\\u{${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`,
    );
}
