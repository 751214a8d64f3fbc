import { realpath } from "node:fs/promises";
import { isAbsolute, normalize, relative, resolve } from "node:path";
import { isErrno } from "../core/errors.ts";
import { sessionError } from "./errors.ts";

/** Longest prompt that fits in one argument, in bytes: Linux limits an argument to 128 KiB. The terminal accepts any length. */
export const maxArgumentPromptBytes = 100_000;

// Everything that a terminal would interpret as a key or an escape sequence, C1 included; tab and newline are text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/**
 * The prompt in the form that the agent receives: CRLF becomes LF, and white space at both ends is removed (as every agent does).
 *
 * A prompt is text, never a command. This rule is Postern's own; see `prompt_not_text`.
 *
 * @throws PosternError `prompt_not_text` for control characters, a lone surrogate, only white space, or what the agent would treat as its
 * command, unless `allowCommands`.
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
    throw sessionError("prompt_not_text", "The prompt is empty. Write what the agent should do.");
  }
  const control = controlCharacters.exec(text);
  if (control !== null) {
    const code = text.charCodeAt(control.index).toString(16).padStart(4, "0");
    throw sessionError(
      "prompt_not_text",
      `The prompt has the control character U+${code} at offset ${control.index}; only tab and newline are text. Remove it, or type it into the terminal.`,
    );
  }
  if (!text.isWellFormed()) {
    throw sessionError("prompt_not_text", "The prompt contains a lone surrogate, so it is not valid Unicode.");
  }
  const command = rules.allowCommands ? null : commandIn(text, rules);
  if (command !== null) {
    throw sessionError(
      "prompt_not_text",
      `The agent would read this prompt as its command "${command}". Reword it, or set allowCommands (needs the scope coding:drive).`,
    );
  }
  return text;
}

/**
 * Refuses a prompt that would complete a command after a draft, such as "/export " in the composer.
 *
 * @throws PosternError `prompt_not_text`
 */
export function refuseCommandBehind(draft: string, text: string, rules: Parameters<typeof commandIn>[1]): void {
  const command = commandIn(draft + text, rules);
  if (command === null) return;
  throw sessionError(
    "prompt_not_text",
    `After the text in its composer, the agent would read this prompt as part of its command "${command}". Set onDraft to "clear", or use a token with the scope coding:drive.`,
  );
}

/**
 * The command that an agent could mistake this prompt for, a prefix or a whole word; null if none.
 *
 * Agents remove characters before they look for a command, and not all remove the same ones (see `docs/agents.md`). So the prompt counts as a
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

// Also the Braille blank, which has no property that marks it as such.
const blankStart = /^[\p{Z}\p{M}\s\u2800]+/u;
const blankEnd = /[\p{Z}\p{M}\s\u2800]+$/u;

/** The text without invisible characters: format, control, private and unassigned characters, and those that Unicode marks as ignorable. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{C}\p{Default_Ignorable_Code_Point}]/gu, "");
}

/** Where a session's mentions can lead. */
export interface MentionPlace {
  /** Real path of the session's directory. */
  readonly dir: string;
  /** Postern's state folder, which may be inside. */
  readonly stateDir: string;
}

/**
 * Refuses a prompt that mentions a file outside the session's directory, a file of Postern's own state, or a resource of an MCP server.
 * An agent that reads mentions puts the mentioned file (`@path`) into the prompt without asking, whatever its permission mode (measured:
 * see `docs/agents.md`).
 *
 * A word such as `@/lib/utils` that is not a file passes, and so does an e-mail address. Links are followed.
 *
 * @throws PosternError `prompt_not_text`
 */
export async function refuseOutsideMentions(prompt: string, place: MentionPlace): Promise<void> {
  const paths = new Set<string>();
  let read = 0;
  for (const mention of mentionsIn(withoutInvisible(prompt))) {
    if (/^(?:~|file:)/iu.test(mention)) throw refused(mention, place, "names a file");
    if (/^[^\s:/]+:[a-z][\w+.-]*:/iu.test(mention)) throw refused(mention, place, "names a resource of an MCP server");
    const found = pathsIn(mention);
    for (const path of found) paths.add(path);
    read += found.length;
    if (read > maxRead || paths.size > maxPaths) {
      throw sessionError(
        "prompt_not_text",
        "The prompt has too many @ mentions that could be files. Shorten it, or use a token with the scope coding:drive.",
      );
    }
  }
  const stateDir = (await realpathOf(place.stateDir)) ?? place.stateDir;
  for (const path of paths) {
    if (await isOutside(path, { ...place, stateDir })) throw refused(path, place, "names a file");
  }
}

function refused(mention: string, { dir }: MentionPlace, what: string) {
  return sessionError(
    "prompt_not_text",
    `The prompt mentions "@${mention.slice(0, 200)}", which ${what} outside ${dir}: the agent would read it without asking. Remove the @, or use a token with the scope coding:drive.`,
  );
}

// Longer paths do not work on Linux.
const maxPathLength = 4_096;
// Checking these on disk takes about 0.3 s.
const maxPaths = 5_000;
const maxRead = 50_000;

/**
 * All that an agent could read as the path of a mention; one that contains another `@` counts as two. Some agents end it at any white
 * space, others only at ASCII white space, and differ in how they read quotes and backslashes.
 */
function* mentionsIn(text: string): Iterable<string> {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const rest = text.slice(at + 1, at + 1 + maxPathLength);
    const [, , quoted] = /^(["'`])(.*?)(?:\1|$)/su.exec(rest) ?? [];
    if (quoted !== undefined) yield quoted;
    for (const form of [/^(?:\\[^]|[^\s\\])+/u, /^(?:"[^"]*"|\\[^]|[^ \t\n\r\\])+/u]) {
      const [word] = form.exec(rest) ?? [];
      if (word === undefined) continue;
      yield word;
      yield word.replaceAll(/\\([^])/gu, "$1");
      yield word.replaceAll(/\\([^])|"/gu, "$1");
    }
  }
}

/** The mention, and the mention without a trailing range of lines, punctuation or quotes. */
function pathsIn(mention: string): readonly string[] {
  const ends = [...mention.matchAll(/[^\p{L}\p{N}_/~-]/gu)].map(({ index }) => index);
  return [mention, ...ends.map((end) => mention.slice(0, end))].filter((path) => path !== "" && !path.includes("\0"));
}

/** A path that leaves the folder is refused without a check on disk: the agent may resolve it from another folder, where the file exists. */
async function isOutside(path: string, { dir, stateDir }: MentionPlace): Promise<boolean> {
  if (!isAbsolute(path) && /^\.\.(?:\/|$)/.test(normalize(path))) return true;
  const real = await realpathOf(resolve(dir, path));
  return real !== null && (!isWithin(real, dir) || isWithin(real, stateDir));
}

function isWithin(path: string, dir: string): boolean {
  const from = relative(dir, path);
  return from !== ".." && !from.startsWith("../") && !isAbsolute(from);
}

async function realpathOf(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    // The agent runs as the same user, so it cannot follow this path either.
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EINVAL")) return null;
    throw error;
  }
}
