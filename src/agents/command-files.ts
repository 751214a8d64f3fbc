import { constants } from "node:fs";
import { type FileHandle, open, readdir, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isErrno } from "../core/errors.ts";
import { findRepositoryRoot } from "../platform/git-repository.ts";

/** A command or skill that an agent offers in its composer. */
export interface AgentCommand {
  /** Includes the first character, as in `/compact`. */
  readonly name: string;
  /** One line; untrusted unless `source` is `agent`. */
  readonly description: string;
  /** The arguments, for people, such as `<model>`; empty if it has none. */
  readonly argumentHint: string;
  /** `agent`: built in. */
  readonly source: "agent" | "user" | "project";
  /**
   * How `coding_ask` can send it with `kind: "command"`; null if it cannot. Each sendable command was tested with the real agent: it waits for no
   * answer in a dialog, does not end the agent, and the session stays bound to the right transcript.
   */
  readonly sendable: "without_arguments" | "with_or_without_arguments" | null;
}

export type ReadsFolder = (folder: string) => Promise<boolean>;

/** What an agent's composer completes. */
export interface AgentCommands {
  /** The agent's own commands that are useful in a session, as of the newest tested version. */
  readonly listed: readonly AgentCommand[];
  /** Custom commands and skills of the user, and of the repository with `dir` (a real path). Never throws for unreadable files. */
  custom(place: {
    readonly dir: string;
    readonly env: Readonly<Record<string, string>>;
    /** Whether the caller can read this folder, which is above `dir`. By default, all such folders. */
    readonly reads?: ReadsFolder;
  }): Promise<readonly AgentCommand[]>;
}

/** A built-in command. @param more `sendable`: see {@link AgentCommand.sendable} */
export function builtIn(
  name: string,
  description: string,
  {
    argumentHint = "",
    sendable = null,
  }: { readonly argumentHint?: string; readonly sendable?: AgentCommand["sendable"] } = {},
): AgentCommand {
  return { name, description, argumentHint, source: "agent", sendable };
}

/** A file that defines a command. Its text is untrusted. */
export interface CommandFile {
  /** The names of the folders below the folder that is read, then the name of the file without its extension. */
  readonly parts: readonly string[];
  readonly text: string;
  readonly source: "user" | "project";
}

// A menu cannot even show a hundred. The limits are for folders that were filled on purpose.
const maxFiles = 300;
const maxEntries = 2_000;
const maxDepth = 4;
/** Front matter is at the beginning. */
const maxHeadBytes = 16 * 1024;
/** Even in a deeper folder, fewer levels than this have commands. */
const maxLevels = 32;

const unreadable = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENXIO", "EISDIR", "EPERM", "ENAMETOOLONG"] as const;

/** `dir` and the folders above it that the caller can read, up to the root of its repository; outside a repository, only `dir`. */
export async function projectFolders(
  dir: string,
  reads: ReadsFolder = () => Promise.resolve(true),
): Promise<readonly string[]> {
  const root = await findRepositoryRoot(dir);
  if (root === null) return [dir];
  const folders: string[] = [];
  for (let folder = dir; folders.length < maxLevels; folder = dirname(folder)) {
    if (folder !== dir && !(await reads(folder))) break;
    folders.push(folder);
    if (folder === root || folder === dirname(folder)) break;
  }
  return folders;
}

/**
 * The beginnings of all command files in a folder, by name. In a project, links are not followed: a repository could use them to show the user's
 * other files.
 * @param options `only`: the full name of the file, such as `SKILL.md`; it is not among `parts`
 */
export async function readCommandFiles(
  folder: string,
  options: { readonly source: CommandFile["source"]; readonly ending: string; readonly only?: string },
): Promise<readonly CommandFile[]> {
  const followLinks = options.source === "user";
  const found: CommandFile[] = [];
  let entries = 0;
  async function walk(parts: readonly string[]): Promise<void> {
    const path = join(folder, ...parts);
    for (const entry of await entriesIn(path)) {
      entries += 1;
      if (entries > maxEntries || found.length >= maxFiles) return;
      if (entry.isSymbolicLink() && !followLinks) continue;
      const isMatch = options.only === undefined ? entry.name.endsWith(options.ending) : entry.name === options.only;
      if (isMatch && !entry.isDirectory()) {
        const text = await headOf(join(path, entry.name), followLinks);
        const own = options.only === undefined ? [entry.name.slice(0, -options.ending.length)] : [];
        if (text !== null) found.push({ parts: [...parts, ...own], text, source: options.source });
      } else if (!entry.isFile() && parts.length < maxDepth && !entry.name.startsWith(".git")) {
        await walk([...parts, entry.name]);
      }
    }
  }
  if (followLinks || (await isPlain(folder))) await walk([]);
  return found;
}

/** Whether no part of the path below its project is a link; the project itself is a real path. */
async function isPlain(folder: string): Promise<boolean> {
  try {
    return relative(await realpath(folder), folder) === "";
  } catch (error) {
    if (isErrno(error, ...unreadable)) return false;
    throw error;
  }
}

async function entriesIn(folder: string) {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, maxEntries);
  } catch (error) {
    if (isErrno(error, ...unreadable)) return [];
    throw error;
  }
}

async function headOf(path: string, followLinks: boolean): Promise<string | null> {
  // Without O_NONBLOCK, opening a named pipe waits for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLinks ? 0 : constants.O_NOFOLLOW);
  let file: FileHandle | null = null;
  try {
    file = await open(path, flags);
    if (!(await file.stat()).isFile()) return null;
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxHeadBytes), 0, maxHeadBytes, 0);
    return buffer.subarray(0, bytesRead).toString("utf8");
  } catch (error) {
    if (isErrno(error, ...unreadable)) return null;
    throw error;
  } finally {
    await file?.close();
  }
}

/**
 * The parts of a Markdown file's YAML front matter that commands use: text, quoted text and blocks by key.
 * `body` is the rest.
 */
export function frontMatter(text: string): { readonly fields: ReadonlyMap<string, string>; readonly body: string } {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const end = lines[0]?.trimEnd() === "---" ? lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---") : -1;
  const fields = new Map<string, string>();
  if (end === -1) return { fields, body: text };
  let key: string | null = null;
  for (const line of lines.slice(1, end)) {
    const [, name, value = ""] = /^([\w-]+):(?:\s+(.*))?$/.exec(line) ?? [];
    if (name !== undefined) {
      key = name;
      fields.set(name, /^[|>][+-]?$/.test(value.trim()) ? "" : unquoted(value.trim()));
    } else if (key !== null && /^\s+\S/.test(line)) {
      fields.set(key, `${fields.get(key) ?? ""} ${line.trim()}`.trim());
    }
  }
  return { fields, body: lines.slice(end + 1).join("\n") };
}

function unquoted(value: string): string {
  const [, , inside] = /^(["'])(.*)\1$/.exec(value) ?? [];
  return inside ?? value;
}

const maxDescriptionLength = 300;
const maxHintLength = 100;

/** A command from a file; null if its name is not one that can be typed. */
export function customCommand(
  name: string,
  {
    description,
    argumentHint = "",
    sendable = null,
  }: {
    readonly description: string;
    readonly argumentHint?: string;
    readonly sendable?: AgentCommand["sendable"];
  },
  source: CommandFile["source"],
): AgentCommand | null {
  if (!/^[/$][\p{L}\p{N}_][\p{L}\p{N}_.:/-]{0,99}$/u.test(name)) return null;
  return {
    name,
    description: oneLine(description, maxDescriptionLength),
    argumentHint: oneLine(argumentHint, maxHintLength),
    source,
    sendable,
  };
}

/** Without characters that are invisible or control a terminal. */
function oneLine(text: string, maxLength: number): string {
  const plain = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1).trimEnd()}…`;
}

/** The first line of a command's text, used if the command has no description. */
export function firstLine(body: string): string {
  return (
    body
      .split("\n")
      .map((line) => line.replace(/^#+\s*/, "").trim())
      .find((line) => line !== "") ?? ""
  );
}

/** All completions that a composer offers. A custom command replaces a built-in one with the same name, as in Claude Code (2.1.329). */
export async function commandsIn(
  { listed, custom }: AgentCommands,
  place: Parameters<AgentCommands["custom"]>[0],
): Promise<readonly AgentCommand[]> {
  return distinct([...(await custom(place)), ...listed]);
}

/** Keeps the first of several commands with the same name. */
export function distinct(commands: readonly (AgentCommand | null)[]): readonly AgentCommand[] {
  const byName = new Map<string, AgentCommand>();
  for (const command of commands) if (command !== null && !byName.has(command.name)) byName.set(command.name, command);
  return [...byName.values()];
}
