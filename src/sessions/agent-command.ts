import type { AgentCommand } from "../agents/index.ts";
import { hasCode } from "../core/errors.ts";
import { sessionError } from "./errors.ts";
import { type MentionPlace, refuseOutsideMentions, withoutInvisible } from "./prompt-text.ts";

/** A command that can be typed. */
export interface CommandLine {
  readonly text: string;
  /** Whether the command stands for a prompt and so starts a turn, as custom commands of the user and the repository do. */
  readonly startsTurn: boolean;
}

/** A longer line becomes a placeholder in an agent's composer, or wraps over many rows. */
const maxLength = 500;

/**
 * Checks a prompt that is to be sent as one of the agent's commands: a sendable one of `commands`, on one line, whose arguments have no
 * other effect.
 *
 * @throws PosternError `command_not_sendable`
 */
export async function toCommandLine(
  prompt: string,
  { commands, ...place }: MentionPlace & { readonly commands: readonly AgentCommand[] },
): Promise<CommandLine> {
  const text = prompt.trim();
  const problem = problemOf(text);
  if (problem !== null) throw sessionError("command_not_sendable", problem);
  const [, name = "", given = ""] = /^(\S+) *(.*)$/u.exec(text) ?? [];
  const command = commands.find((other) => other.name === name);
  const rule = command?.sendable ?? null;
  if (command === undefined || rule === null) throw sessionError("command_not_sendable", notListed(name, commands));
  if (rule === "without_arguments" && given !== "") {
    throw sessionError("command_not_sendable", `\`${name}\` can only be sent without arguments.`);
  }
  await refuseOutside(text, place);
  return { text, startsTurn: command.source !== "agent" };
}

function problemOf(text: string): string | null {
  if (text.length > maxLength) return `A command has at most ${maxLength} characters.`;
  if (/[\n\r\p{Zl}\p{Zp}]/u.test(text)) return "A command must be a single line. Remove the line breaks.";
  if (/\t/.test(text) || withoutInvisible(text) !== text)
    return "The command contains an invisible character. Remove it.";
  if (text.includes("!")) return "The command contains `!`, which can run a shell command. Remove it.";
  if (!/^\/\S/u.test(text)) return "A command begins with `/` and its name, such as `/compact`.";
  return null;
}

/** Enough for a message. */
const maxShown = 10;

function notListed(name: string, commands: readonly AgentCommand[]): string {
  const names = commands.filter(({ sendable }) => sendable !== null).map((command) => `\`${command.name}\``);
  const shown = [...names.slice(0, maxShown), ...(names.length > maxShown ? ["…"] : [])].join(", ");
  const known = shown === "" ? "This agent has no commands that can be sent." : `These can: ${shown}.`;
  return `"${name.slice(0, 100)}" cannot be sent as a command. ${known} Type others into the terminal.`;
}

/** Applies to callers with `coding:drive` too: a command that counts as safe must not read files outside the session's directory. */
async function refuseOutside(text: string, place: MentionPlace): Promise<void> {
  try {
    await refuseOutsideMentions(text, place);
  } catch (error) {
    if (!hasCode(error, "prompt_not_text")) throw error;
    const message = `The command mentions something outside ${place.dir}. Remove the @.`;
    throw sessionError("command_not_sendable", message, { cause: error });
  }
}
