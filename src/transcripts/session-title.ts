import type { TranscriptFacts } from "./turn-index.ts";
import { cut } from "./turn-parts.ts";

const titleCharacters = 200;
/** A title taken from a prompt fits on one line of the session list. */
const promptTitleCharacters = 100;
/** A shorter sentence, such as "Hi!", does not describe the prompt. */
const minSentenceCharacters = 15;
/** The start of a prompt, in which to look for its first line. */
const searchedCharacters = 4_000;

/** A session's title, or else the start of its first prompt. */
export function sessionTitle({ ownTitle, firstPrompt }: Pick<TranscriptFacts, "ownTitle" | "firstPrompt">) {
  return titleFrom(ownTitle ?? "") ?? promptTitle(firstPrompt ?? "");
}

/** A message as a title: one line without control characters, up to 200 characters. */
export function titleFrom(text: string): string | null {
  const line = inOneLine(cut(text, 4 * titleCharacters));
  return line === "" ? null : cut(line, titleCharacters);
}

/**
 * The first line of a prompt that contains words, without Markdown syntax. A line that is too long for a title is cut after a sentence or between
 * words.
 */
export function promptTitle(prompt: string): string | null {
  const lines = cut(prompt, searchedCharacters)
    .split(/[\n\r\u2028\u2029]/)
    .map(withoutMarkup);
  // A prompt without words, such as "?", is used as the title.
  const line = lines.find((text) => /[\p{L}\p{N}]/u.test(text)) ?? inOneLine(prompt.slice(0, searchedCharacters));
  return line === "" ? null : shortened(line);
}

function shortened(line: string): string {
  if (line.length <= promptTitleCharacters) return line;
  const start = cut(line, promptTitleCharacters);
  const ends = [...`${start} `.matchAll(/[.!?](?= )|[。！？]/gu)].map(({ index }) => index + 1);
  const end = ends.find((at) => at >= minSentenceCharacters);
  if (end !== undefined) return start.slice(0, end);
  // Some scripts have no spaces.
  const space = start.lastIndexOf(" ");
  return `${(space > promptTitleCharacters / 2 ? start.slice(0, space) : cut(start, promptTitleCharacters - 1)).replace(/[\s,;:–-]+$/u, "")}…`;
}

/** A line without Markdown syntax; "" for the line that opens a code block. */
function withoutMarkup(line: string): string {
  const text = inOneLine(line);
  if (/^(```|~~~)/.test(text)) return "";
  // A line of tags only, such as "<context>".
  if (/^(<\/?[a-z][^<>]*>\s*)+$/i.test(text)) return "";
  return text
    .replace(/^((#{1,6}|>|[-*+]|\d{1,3}[.)]|\[[ x]\]) )+/i, "")
    .replace(/!?\[([^[\]]+)\]\([^()\s]+\)/g, "$1")
    .replace(/(\*\*|`+)(\S|\S.*?\S)\1/g, "$2")
    .trim();
}

function inOneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  return text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
}
