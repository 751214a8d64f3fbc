import { codingError } from "./errors.ts";

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
  if (text === "") throw codingError("prompt_not_text", "The prompt is empty. Say what the agent shall do.");
  const control = controlCharacters.exec(text);
  if (control !== null) {
    const code = text.charCodeAt(control.index).toString(16).padStart(4, "0");
    throw codingError(
      "prompt_not_text",
      `The prompt has the control character U+${code} at offset ${control.index}; only tab and newline are text. Take it out, or type it into the terminal.`,
    );
  }
  if (!text.isWellFormed()) {
    throw codingError("prompt_not_text", "The prompt has half a surrogate pair and is no valid Unicode text.");
  }
  if (rules.commandWords?.includes(text) === true && !rules.allowCommands) {
    throw codingError(
      "prompt_not_text",
      `The agent takes "${text}" as a command, not as text. Word it otherwise, or set allowCommands (needs the scope coding:drive).`,
    );
  }
  const prefix = rules.commandPrefixes.find((candidate) => text.startsWith(candidate));
  if (prefix !== undefined && !rules.allowCommands) {
    throw codingError(
      "prompt_not_text",
      `The prompt begins with "${prefix}", which the agent takes as a command, not as text. Word it otherwise, or set allowCommands (needs the scope coding:drive).`,
    );
  }
  return text;
}
