import { posix } from "node:path";
import type { Block, ToolResult } from "../wire/turn.ts";
import { type Assertion, type EntityRef, keyOf } from "./assertion.ts";
import { ofAddress, type Said } from "./rules-text.ts";

export type ToolCall = Extract<Block, { readonly type: "tool_call" }>;

const readers = new Set(["read", "notebookread", "view", "view_image", "read_file", "readfile"]);
const editors = new Set(["edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "apply_patch"]);
const shells = new Set(["bash", "shell", "local_shell", "exec_command", "run_shell_command", "shell_command"]);
const pathMembers = ["file_path", "filePath", "path", "notebook_path", "filename"] as const;
const commandMembers = ["command", "cmd"] as const;
const maxFiles = 200;
const patchFile = /^\*\*\* (?:Add|Update|Delete) File: (.{1,500})$/gm;
const patchMove = /^\*\*\* Move to: (.{1,500})$/gm;

/** What a call shows: the tool, files read or edited, commands, URLs. A failed call changed no file. */
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

/** The files in a patch's headers or in `changes`. */
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

/** Unwraps `bash -lc`. */
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

/** The directories that paths are resolved against. */
export interface FilePlace {
  /** The main checkout. */
  readonly repository: string | null;
  /** The session's directory, for relative paths. */
  readonly cwd?: string | null | undefined;
  /** The session's worktree, if it is not the main checkout. */
  readonly worktree?: string | null | undefined;
}

/** A canonical path: absolute if possible, with a worktree's path mapped to the main checkout. */
function fileKey(path: string, { repository, cwd, worktree }: FilePlace): string {
  const isRelative = !path.startsWith("/");
  if (isRelative && (cwd === undefined || cwd === null || path.startsWith("~"))) return keyOf(path);
  const absolute = posix.normalize(isRelative ? `${cwd}/${path}` : path);
  const inWorktree = worktree !== undefined && worktree !== null && `${absolute}/`.startsWith(`${worktree}/`);
  return keyOf(inWorktree && repository !== null ? `${repository}${absolute.slice(worktree.length)}` : absolute);
}

/** A command and its result; null while it runs. */
interface RanCommand {
  readonly command: string;
  readonly result: ToolResult | null;
}

/** Only the start of a longer script is read. */
const maxCommandCharacters = 10_000;
const maxOutputCharacters = 4_000;
const maxSegments = 50;
const maxPackages = 50;

/** `NAME=value` before a command; environments are not remembered. */
const assignment =
  /^(?:env[ \t]+)?(?:export[ \t]+)?[A-Za-z_]\w{0,100}=(?:"[^"\n]{0,4000}"|'[^'\n]{0,4000}'|[^\s;&|"']{0,4000})[ \t;]*/;
const onlyAssignment = /^(?:export|set|env|printenv)\b[^|;&]*$/;
/** Claude Code and Codex write this before the command's output. */
const exitCode =
  /^(?:(?:Error: )?Exit code:? (-?\d{1,3})\b|(?:Chunk ID: \S{1,100}\n)?(?:Wall time: [^\n]{0,100}\n)?Process exited with code (-?\d{1,3})\b)/;
const madeCommit = /^\[(?:detached HEAD|([^\s\]]{1,200}))(?: \(root-commit\))? ([0-9a-f]{7,40})\] /m;
const branchThen = /^(?:Switched to (?:a new )?branch|Already on) '([^'\n]{1,200})'/m;
const branchNow = /^On branch (\S{1,200})$/m;

/** Git commands that report branches and commits. */
const gitOfBranches = /^git(?:[ \t]+-[cC][ \t]+\S{1,500}){0,3}[ \t]+(?:status|switch|checkout|commit)\b/;
/** Commands that print files or arguments, which can contain anything that looks like git's output. */
const printsFiles =
  /(?:^|\|)[ \t]*(?:sudo[ \t]+)?(?:(?:cat|bat|head|tail|less|more|sed|awk|grep|rg|nl|tac|cut|sort|jq|strings|diff|find|xargs|curl|wget|gh|type|python3?|node|perl|ruby)\b|git\b[^|]{0,500}?[ \t](?:show|diff|log|grep|blame|cat-file|reflog|notes)\b|(?:echo|printf)\b[^|]{0,2000}?(?:branch|Switched|Already|\[))/;
/** Splits a script at the ends of commands; quotations and comments are one part each. */
const partsOfScript = /\\[^]|"(?:[^"\\]|\\[^])*"?|'[^']*'?|(?<![^\s;&|])#[^\n]*|\n|&&|;;|;|[^\\"'\n&;#]+|[&#]/g;
const endsSegment = new Set(["\n", "&&", ";"]);
/** Options followed by a file or URL. */
const takesArgument = new Set([
  ...["-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-i", "--index-url", "--registry", "--path"],
  ...["--extra-index-url", "--git", "--branch", "--target", "-t", "--prefix", "-C"],
]);

/** Package managers and the subcommands with which they install. */
const installers: Readonly<Record<string, RegExp>> = {
  npm: /^(?:i|install|add)$/,
  pnpm: /^(?:i|install|add)$/,
  yarn: /^add$/,
  bun: /^(?:i|install|add)$/,
  pip: /^install$/,
  pip3: /^install$/,
  uv: /^add$/,
  cargo: /^(?:add|install)$/,
  go: /^get$/,
  gem: /^install$/,
  brew: /^install$/,
  apt: /^install$/,
  "apt-get": /^install$/,
};
const packageName = /^@?[A-Za-z0-9][\w./@+~^=<>[\]-]{0,200}$/;
/** A package's version; a name can begin with @. */
const version = /(?!^)(?:@|==|>=|<=|~=|>|<).*$/;

/** A command with its exit code, and what git and installers report. */
function assertionsOfCommand({ command, result }: RanCommand, { session, at }: Said): readonly Assertion[] {
  const segments = segmentsOf(command);
  const key = keyOf(segments.join(" && "));
  if (key === "") return [];
  const ran: EntityRef = { type: "Command", key };
  const found: Assertion[] = [{ subject: session, predicate: "ran", object: ran, at }];
  if (result === null) return found;
  found.push({ subject: ran, predicate: "last_exit", object: exitOf(result), at });
  if (isOfGit(segments)) found.push(...ofGit(result.text, session, at));
  if (!result.ok) return found;
  const packages = segments.flatMap(packagesOf).slice(0, maxPackages);
  return [...found, ...packages.map((object) => ({ subject: session, predicate: "installed", object, at }))];
}

/** The commands of a script, without their environment. */
function segmentsOf(command: string): readonly string[] {
  const written: string[] = [];
  let current = "";
  for (const [part] of command.slice(0, maxCommandCharacters).matchAll(partsOfScript)) {
    if (!endsSegment.has(part)) current += part;
    else if (written.push(current) < maxSegments) current = "";
    else break;
  }
  return [...written, current]
    .slice(0, maxSegments)
    .map((segment) => withoutAssignments(segment.trim()))
    .filter((segment) => segment !== "" && !segment.startsWith("#") && !onlyAssignment.test(segment));
}

function withoutAssignments(segment: string): string {
  let rest = segment;
  for (let round = 0; round < 20; round++) {
    const shorter = rest.replace(assignment, "");
    if (shorter === rest) break;
    rest = shorter;
  }
  return rest;
}

/** Whether the output is git's own. */
function isOfGit(segments: readonly string[]): boolean {
  const isGit = segments.some((segment) => gitOfBranches.test(segment));
  return isGit && !segments.some((segment) => printsFiles.test(segment));
}

/** Agents write the exit code before a failed command's output. The output of a successful command may contain another command's exit code. */
function exitOf({ ok, text }: ToolResult): string {
  if (ok) return "0";
  const [, first, second] = exitCode.exec(text.slice(0, maxOutputCharacters)) ?? [];
  return first ?? second ?? "failed";
}

function ofGit(output: string, session: EntityRef, at: number): readonly Assertion[] {
  const head = output.slice(0, maxOutputCharacters);
  const [, committedOn, commit] = madeCommit.exec(head) ?? [];
  const branch = committedOn ?? branchThen.exec(head)?.[1] ?? branchNow.exec(head)?.[1];
  const found: Assertion[] = [];
  if (commit !== undefined) {
    found.push({ subject: session, predicate: "committed", object: { type: "Commit", key: commit }, at });
  }
  if (branch !== undefined) {
    found.push({ subject: session, predicate: "current_branch", object: { type: "Branch", key: keyOf(branch) }, at });
  }
  return found;
}

function packagesOf(segment: string): readonly EntityRef[] {
  const words = segment.replace(/^sudo\s+/, "").split(/\s+/, maxPackages + 5);
  const [program = "", verb = "", ...rest] = words;
  if (installers[program]?.test(verb) !== true) return [];
  const stop = rest.findIndex((word) => /^[|>&]|^2>/.test(word));
  return rest
    .slice(0, stop < 0 ? rest.length : stop)
    .filter((_word, at, all) => !takesArgument.has(all[at - 1] ?? ""))
    .filter((word) => packageName.test(word) && !word.startsWith("./") && !word.startsWith("../"))
    .map((word) => ({ type: "Package", key: word.replace(version, "") }));
}
