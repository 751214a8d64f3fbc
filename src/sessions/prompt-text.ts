import { sessionError } from "./errors.ts";

/** Longest prompt that travels in one argument, in bytes: Linux ends one at 128 KiB, and the terminal takes any length. */
export const maxArgumentPromptBytes = 100_000;

// Everything that a terminal would take as a key or an escape sequence, C1 included; tab and newline are text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/**
 * The prompt as it will reach the agent: CRLF becomes LF, and white space at both ends goes (every agent cuts it anyway).
 *
 * A prompt is text, never a command: ours, see "prompt_not_text".
 *
 * @throws PosternError `prompt_not_text` for control characters, half a surrogate pair, nothing but white space, or what the agent
 * would take as its command, unless `allowCommands`.
 */
export function toPromptText(
  prompt: string,
  rules: {
    readonly commandPrefixes: readonly string[];
    readonly commandWords?: readonly string[];
    readonly allowCommands: boolean;
  },
): string {
  const text = prompt.replaceAll("\r\n", "\n").trim();
  if (withoutInvisible(text).trim() === "") {
    throw sessionError("prompt_not_text", "The prompt is empty. Say what the agent should do.");
  }
  const control = controlCharacters.exec(text);
  if (control !== null) {
    const code = text.charCodeAt(control.index).toString(16).padStart(4, "0");
    throw sessionError(
      "prompt_not_text",
      `The prompt has the control character U+${code} at offset ${control.index}; only tab and newline are text. Take it out, or type it into the terminal.`,
    );
  }
  if (!text.isWellFormed()) {
    throw sessionError("prompt_not_text", "The prompt has half a surrogate pair and is no valid Unicode text.");
  }
  const command = rules.allowCommands ? null : commandIn(text, rules);
  if (command !== null) {
    throw sessionError(
      "prompt_not_text",
      `The agent would take this prompt for its command "${command}". Reword it, or set allowCommands (needs the scope coding:drive).`,
    );
  }
  return text;
}

/**
 * Refuses a prompt that would complete a command behind a draft, such as "/export " in the composer.
 *
 * @throws PosternError `prompt_not_text`
 */
export function refuseCommandBehind(draft: string, text: string, rules: Parameters<typeof commandIn>[1]): void {
  const command = commandIn(draft + text, rules);
  if (command === null) return;
  throw sessionError(
    "prompt_not_text",
    `Behind the text in its composer, the agent would take this prompt for a part of its command "${command}". Set onDraft to "clear", or use a token with the scope coding:drive.`,
  );
}

/**
 * The command that an agent could take this prompt for, a prefix or a whole word; null for none.
 *
 * Agents remove characters before they look for a command, and not all the same ones (see `docs/agents.md`). So the prompt counts as a
 * command if it becomes one with every character removed or folded that any agent might remove or fold: what is invisible, anywhere;
 * spaces and combining marks, at both ends; and compatibility forms, such as a full-width slash.
 */
export function commandIn(
  text: string,
  {
    commandPrefixes,
    commandWords = [],
  }: { readonly commandPrefixes: readonly string[]; readonly commandWords?: readonly string[] },
): string | null {
  const readings = [withoutInvisible(text), withoutInvisible(text.normalize("NFKC")).normalize("NFKC")].map((reading) =>
    reading.replace(blankStart, "").replace(blankEnd, "").toLowerCase(),
  );
  const isRead = (command: string, match: (reading: string, command: string) => boolean): boolean =>
    readings.some((reading) => match(reading, command.toLowerCase()));
  return (
    commandWords.find((word) => isRead(word, (reading, command) => reading === command)) ??
    commandPrefixes.find((prefix) => isRead(prefix, (reading, command) => reading.startsWith(command))) ??
    null
  );
}

// Also the blank of Braille, which has no property that says so.
const blankStart = /^[\p{Z}\p{M}\s\u2800]+/u;
const blankEnd = /[\p{Z}\p{M}\s\u2800]+$/u;

/** The text without what cannot be seen: format, control, private and unassigned characters, and those that Unicode says to ignore. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{C}\p{Default_Ignorable_Code_Point}]/gu, "");
}
