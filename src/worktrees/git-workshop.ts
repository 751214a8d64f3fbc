import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { createGit, type Git, GitError, type GitPlace } from "../platform/git-command.ts";
import type { EnvironmentMarker } from "../platform/processes.ts";
import type { TreeName } from "./tree-walk.ts";

/** Git, with scratch folders in the state folder. The next gateway's start clears them and ends what still runs in them. */
export interface GitWorkshop {
  readonly git: Git;
  readonly root: string;
  /** Marks processes that git started here. */
  readonly marker: EnvironmentMarker;
  /** The path of a new scratch folder, which does not exist yet. */
  scratchFolder(): string;
}

/** @param options `home` is the state folder, `pathVariable` is the search path for git */
export function createGitWorkshop({
  home,
  pathVariable,
}: {
  readonly home: string;
  readonly pathVariable: string;
}): GitWorkshop {
  const root = join(home, "worktrees");
  const marker = { name: "POSTERN_GIT", value: root };
  return { git: createGit({ pathVariable, marker }), root, marker, scratchFolder: () => join(root, newUuid()) };
}

/** Git that reads a repository's objects and writes new ones to the configured place. */
interface OwnObjects extends Git {
  /** The id of a tree without files. */
  emptyTree(at: GitPlace): Promise<string>;
}

/** @param more another folder of objects to read */
export function ownObjects(git: Git, commonDir: string, more: string | null = null): OwnObjects {
  const folders = [join(commonDir, "objects"), ...(more === null ? [] : [more])];
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: folders.map(quotedFolder).join(":") };
  const run: Git["run"] = (args, options) => git.run(args, { ...options, env: { ...options.env, ...env } });
  const must: Git["must"] = (args, options) => git.must(args, { ...options, env: { ...options.env, ...env } });
  return {
    run,
    must,
    async emptyTree(at) {
      return (await must(["hash-object", "-w", "-t", "tree", "--stdin"], { at })).toString("latin1").trim();
    },
  };
}

function quotedFolder(path: string): string {
  return `"${[...Buffer.from(path)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}"`;
}

/** Git with a common deadline for all commands. */
export interface DeadlineGit extends Git {
  isOver(): boolean;
}

/** `git`, until `withinMs` from now. */
export function gitUntil(
  git: Git,
  { clock, withinMs }: { readonly clock: Clock; readonly withinMs: number },
): DeadlineGit {
  const until = clock.now() + withinMs;
  const leftMs = (): number => until - clock.now();
  async function run(args: Parameters<Git["run"]>[0], options: Parameters<Git["run"]>[1]): ReturnType<Git["run"]> {
    const timeoutMs = Math.min(leftMs(), options.timeoutMs ?? withinMs);
    if (timeoutMs <= 0) return { exitCode: null, stdout: Buffer.alloc(0), stderr: "Timed out." };
    return git.run(args, { ...options, timeoutMs });
  }
  return {
    run,
    async must(args, options) {
      const result = await run(args, options);
      if (result.exitCode !== 0) throw new GitError(args, result);
      return result.stdout;
    },
    isOver: () => leftMs() <= 0,
  };
}

/** One file, link or submodule of a tree or an index. */
export interface TreeEntry {
  /** `100644`, `100755`, `120000` (a link) or `160000` (a submodule). */
  readonly mode: string;
  readonly oid: string;
}

/** A tree's files by path. */
export type TreeEntries = ReadonlyMap<TreeName, TreeEntry>;

/** Output limit for a large tree. */
const maxListBytes = 512 * 1024 * 1024;
/** Flushes new objects to disk before the files that they save are removed. */
export const durable = ["-c", "core.fsync=all"] as const;
/** Enough to read and hash a large work tree. */
const longMs = 600_000;

/** The files of a commit's or a tree's whole content. */
export async function readTree(git: Git, at: GitPlace, treeish: string): Promise<TreeEntries> {
  const out = await git.must(["ls-tree", "-r", "-z", "--full-tree", treeish], { at, maxOutputBytes: maxListBytes });
  return entriesOf(out, /^(\d{6}) \w+ ([0-9a-f]+)\t(.*)$/s);
}

/** The files of an index; for a conflict, the "ours" side. */
export async function readIndex(git: Git, at: GitPlace): Promise<TreeEntries> {
  const out = await git.must(["ls-files", "--stage", "-z"], { at, maxOutputBytes: maxListBytes });
  return entriesOf(out, /^(\d{6}) ([0-9a-f]+) [02]\t(.*)$/s);
}

function entriesOf(listed: Buffer, form: RegExp): TreeEntries {
  const entries = new Map<TreeName, TreeEntry>();
  for (const line of splitAtNul(listed)) {
    const [, mode = "", oid = "", name] = form.exec(line) ?? [];
    if (name !== undefined) entries.set(name, { mode, oid });
  }
  return entries;
}

/** The items of a NUL-terminated list. */
export function splitAtNul(bytes: Buffer): string[] {
  return bytes
    .toString("latin1")
    .split("\0")
    .filter((part) => part !== "");
}

/** Writes a tree with these files into the repository. The index in `at` is our own. */
export async function writeTree(git: Git, at: GitPlace, entries: TreeEntries): Promise<string> {
  const lines = [...entries].map(([name, { mode, oid }]) => `${mode} ${oid}\t${name}\0`);
  await git.must(["read-tree", "--empty"], { at });
  await git.must(["update-index", "-z", "--index-info"], { at, input: Buffer.from(lines.join(""), "latin1") });
  return lineOf(await git.must([...durable, "write-tree"], { at, timeoutMs: longMs }));
}

/** The object ids of files' content, byte for byte; `write` also stores the content. Paths are relative to the work tree, or absolute. */
export async function hashFiles(
  git: Git,
  at: GitPlace,
  { paths, write }: { readonly paths: readonly TreeName[]; readonly write: boolean },
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const out = await git.must([...durable, "hash-object", ...(write ? ["-w"] : []), "--no-filters", "--stdin-paths"], {
    at,
    input: Buffer.from(paths.map((path) => `${quotedPath(path)}\n`).join(""), "latin1"),
    timeoutMs: longMs,
    maxOutputBytes: maxListBytes,
  });
  const oids = out.toString("latin1").trimEnd().split("\n");
  if (oids.length !== paths.length) throw new Error("git hash-object did not return an id for every file.");
  return oids;
}

/** Quotes any path so that git reads it on one line. */
function quotedPath(path: TreeName): string {
  const escaped = path.replace(/[^\w./-]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `"${escaped}"`;
}

/** A line of git's output, without its newline. */
export function lineOf(bytes: Buffer): string {
  return bytes.toString("utf8").trimEnd();
}

/**
 * A commit's id by an exact name, or null if there is none. Never a revision expression: `name` is a full ref, `HEAD` or an id.
 * @throws GitError if git cannot determine it: a failed lookup does not count as missing
 */
export async function commitOf(git: Git, at: GitPlace, name: string): Promise<string | null> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const result = await git.run(args, { at });
  if (result.exitCode !== 0 && result.exitCode !== 1) throw new GitError(args, result);
  return result.exitCode === 0 ? lineOf(result.stdout) : null;
}

/** Which of these untracked paths are ignored. */
export async function ignoredOf(git: Git, at: GitPlace, names: readonly TreeName[]): Promise<ReadonlySet<TreeName>> {
  if (names.length === 0) return new Set();
  // This command rejects literal paths. With this prefix, none is read as a pattern.
  const input = Buffer.from(names.map((name) => `./${name}\0`).join(""), "latin1");
  const options = { at, input, env: { GIT_LITERAL_PATHSPECS: "0" }, maxOutputBytes: maxListBytes };
  const args = ["check-ignore", "--no-index", "-z", "--stdin"];
  const result = await git.run(args, options);
  if (result.exitCode !== 0 && result.exitCode !== 1) throw new GitError(args, result);
  return new Set(splitAtNul(result.stdout).map((name) => name.slice(2)));
}
