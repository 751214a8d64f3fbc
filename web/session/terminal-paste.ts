/**
 * A pasted text as a terminal may get it: without control characters but tab and newline, so that it can neither end the paste by itself
 * nor press keys.
 */
export function pastedText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

/** What Ctrl makes of a character; null of one that has no such meaning. */
export function controlCharacter(character: string): string | null {
  if (character.length !== 1) return null;
  const upper = character.toUpperCase();
  if (/[@A-Z[\\\]^_]/.test(upper)) return String.fromCharCode(upper.charCodeAt(0) & 0x1f);
  if (character === " ") return "\0";
  return character === "?" ? "\x7f" : null;
}
