import { posix } from "node:path";
import type { Block } from "../wire/turn.ts";
import { type Assertion, type EntityRef, keyOf } from "./assertion.ts";
import { assertionsOfCommand } from "./rules-commands.ts";
import { ofAddress, type Said } from "./rules-text.ts";

/** A tool call as a turn shows it. */
export type ToolCall = Extract<Block, { readonly type: "tool_call" }>;

const readers = new Set(["read", "notebookread", "view", "view_image", "read_file", "readfile"]);
const editors = new Set(["edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "apply_patch"]);
const shells = new Set(["bash", "shell", "local_shell", "exec_command", "run_shell_command", "shell_command"]);
/** A path is asked for by these names. */
const pathMembers = ["file_path", "filePath", "path", "notebook_path", "filename"] as const;
const commandMembers = ["command", "cmd"] as const;
/** Files of one call. */
const maxFiles = 200;
const patchFile = /^\*\*\* (?:Add|Update|Delete) File: (.{1,500})$/gm;
const patchMove = /^\*\*\* Move to: (.{1,500})$/gm;

/** What an agent did: tools, files that were read and edited, commands, pages. A call that failed changed no file. */
export function assertionsOfCall(call: ToolCall, said: Said & { readonly place: FilePlace }): readonly Assertion[] {
  const { session, at, place } = said;
  const name = call.name.toLowerCase();
  const tool: Assertion = { subject: session, predicate: "used", object: { type: "Tool", key: keyOf(call.name) }, at };
  if (shells.has(name)) {
    const command = commandOf(call.input);
    return command === null ? [tool] : [tool, ...assertionsOfCommand({ command, result: call.result }, said)];
  }
  const failed = call.result?.ok === false;
  if (failed) return [tool];
  const address = stringAt(call.input, "url");
  const page = address !== null && /^https?:\/\//.test(address) ? ofAddress(keyOf(address), said) : [];
  const predicate = readers.has(name) ? "read" : editors.has(name) ? "edited" : null;
  if (predicate === null) return [tool, ...page];
  return [tool, ...filesOf(call.input, place).map((object) => ({ subject: session, predicate, object, at }))];
}

function filesOf(input: unknown, place: FilePlace): readonly EntityRef[] {
  const path = pathMembers.map((name) => stringAt(input, name)).find((found) => found !== null);
  const paths = path === undefined || path === null ? patchedFiles(input) : [path];
  return paths.slice(0, maxFiles).map((one) => ({ type: "File", key: fileKey(one, place) }));
}

/** The files of a patch: its headers, or the members of `changes`. */
function patchedFiles(input: unknown): readonly string[] {
  const changes = memberAt(input, "changes");
  if (typeof changes === "object" && changes !== null && !Array.isArray(changes)) return Object.keys(changes);
  const patch =
    typeof input === "string"
      ? input
      : (stringAt(input, "input") ?? stringAt(input, "patch") ?? stringAt(input, "patchText"));
  if (patch === null) return [];
  return [patchFile, patchMove].flatMap((pattern) => [...patch.matchAll(pattern)].map(([, file = ""]) => file));
}

function commandOf(input: unknown): string | null {
  for (const name of commandMembers) {
    const found = memberAt(input, name);
    if (typeof found === "string") return found;
    if (Array.isArray(found)) return scriptOf(found.filter((word) => typeof word === "string"));
  }
  return null;
}

/** The script of `bash -lc` rather than the wrapping. */
function scriptOf(words: readonly string[]): string {
  const [, flag = "", script] = words;
  return words.length === 3 && script !== undefined && /^-l?c$/.test(flag) ? script : words.join(" ");
}

function stringAt(input: unknown, name: string): string | null {
  const found = memberAt(input, name);
  return typeof found === "string" && found !== "" ? found : null;
}

function memberAt(input: unknown, name: string): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  return Object.entries(input).find(([member]) => member === name)?.[1];
}

/** Where paths are of. */
export interface FilePlace {
  /** The main checkout. */
  readonly repository: string | null;
  /** The directory of the session: relative paths are of it. */
  readonly cwd?: string | null | undefined;
  /** The worktree of the repository that the session works in, where it is not the main checkout. */
  readonly worktree?: string | null | undefined;
}

/** One name for a file, by whatever path it was called: absolute where that can be told, and in a worktree the repository's. */
function fileKey(path: string, { repository, cwd, worktree }: FilePlace): string {
  const isRelative = !path.startsWith("/");
  if (isRelative && (cwd === undefined || cwd === null || path.startsWith("~"))) return keyOf(path);
  const absolute = posix.normalize(isRelative ? `${cwd}/${path}` : path);
  const inWorktree = worktree !== undefined && worktree !== null && `${absolute}/`.startsWith(`${worktree}/`);
  return keyOf(inWorktree && repository !== null ? `${repository}${absolute.slice(worktree.length)}` : absolute);
}
