import { dirname } from "node:path";
import { findExecutable } from "./executables.ts";
import type { EnvironmentMarker } from "./processes.ts";
import { runForOutput } from "./run-command.ts";

/** The repository, work tree and index of a git command. The caller sets all of them: git searches for nothing. */
export interface GitPlace {
  readonly gitDir: string;
  /** For a linked worktree: the repository's git dir, whatever the worktree's files claim. */
  readonly commonDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Where objects are, if not in `commonDir` or `gitDir`. */
  readonly objectDir?: string;
}

export interface GitOptions {
  readonly at: GitPlace;
  readonly input?: Buffer | string;
  /** Added to the fixed variables; nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** After this time, git and its child processes are killed; two minutes by default. */
  readonly timeoutMs?: number;
  /** 64 MiB by default. */
  readonly maxOutputBytes?: number;
}

/** `exitCode` is null when git was killed because it took too long or printed too much, or could not be started. */
export interface GitResult {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs git by argv. */
export type Git = ReturnType<typeof createGit>;

export class GitError extends Error {
  readonly result: GitResult;

  constructor(args: readonly string[], result: GitResult) {
    const said = result.stderr.trim().slice(0, 500);
    const how =
      result.exitCode === null ? "timed out, printed too much, or could not start" : `exit ${result.exitCode}`;
    super(`git ${args[0] ?? ""}: ${said === "" ? how : said}`);
    this.name = "GitError";
    this.result = result;
  }
}

const defaultTimeoutMs = 120_000;
const defaultMaxOutputBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

/**
 * Disables the programs that a repository's configuration can name, since anyone may have written it. Filters are missing here: no
 * command of ours reads or writes work tree files with a repository's configuration.
 */
const inert = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.pager=cat",
  "core.editor=true",
  "core.askPass=",
  "core.sshCommand=false",
  "credential.helper=",
  "diff.external=",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.allow=never",
  "advice.detachedHead=false",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting]);

/**
 * Git that runs no foreign code: by argv, without this process's environment, without system or user configuration, hooks, monitors,
 * helpers, pagers and transports.
 * @param options git is looked up in `pathVariable`; `marker` is in its environment, to find processes that outlive this one
 */
export function createGit({
  pathVariable,
  marker,
}: {
  readonly pathVariable: string;
  readonly marker: EnvironmentMarker;
}) {
  let found: Promise<string | null> | null = null;

  async function run(args: readonly string[], options: GitOptions): Promise<GitResult> {
    found ??= findExecutable("git", pathVariable);
    const program = await found;
    if (program === null) {
      found = null; // it may be installed later
      return { exitCode: null, stdout: Buffer.alloc(0), stderr: "`git` is not on PATH. Install it." };
    }
    const env = { ...options.env, [marker.name]: marker.value };
    return spawnGit(program, args, { ...options, env });
  }

  return {
    run,
    /** Like `run`, but returns only the output. @throws GitError unless the exit code is 0 */
    async must(args: readonly string[], options: GitOptions): Promise<Buffer> {
      const result = await run(args, options);
      if (result.exitCode !== 0) throw new GitError(args, result);
      return result.stdout;
    },
  };
}

function environmentOf({ at, env }: GitOptions, program: string): Record<string, string> {
  return {
    PATH: `${dirname(program)}:/usr/bin:/bin`,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "false",
    GIT_SSH_COMMAND: "false",
    GIT_PAGER: "cat",
    GIT_EDITOR: "true",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    // The list of allowed transports, which overrides protocol.*.allow. No transport is called "none".
    GIT_ALLOW_PROTOCOL: "none",
    GIT_DIR: at.gitDir,
    ...(at.commonDir === undefined ? {} : { GIT_COMMON_DIR: at.commonDir }),
    ...(at.workTree === undefined ? {} : { GIT_WORK_TREE: at.workTree }),
    ...(at.indexFile === undefined ? {} : { GIT_INDEX_FILE: at.indexFile }),
    ...(at.objectDir === undefined ? {} : { GIT_OBJECT_DIRECTORY: at.objectDir }),
    ...env,
  };
}

async function spawnGit(program: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { exitCode, stdout, stderr, startError } = await runForOutput([program, "--no-pager", ...inert, ...args], {
    cwd: options.at.workTree ?? options.at.gitDir,
    env: environmentOf(options, program),
    input: options.input ?? "",
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    maxOutputBytes: options.maxOutputBytes ?? defaultMaxOutputBytes,
    maxErrorBytes,
  });
  return { exitCode, stdout, stderr: `${stderr.toString("utf8")}${startError?.message ?? ""}` };
}
