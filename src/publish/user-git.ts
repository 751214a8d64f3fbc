import { findExecutable } from "../platform/executables.ts";
import { runForOutput } from "../platform/run-command.ts";
import { publishError } from "./errors.ts";

/** `exitCode` is null when the program ran too long, printed too much, or could not be started. */
export interface ProgramResult {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

interface RunOptions {
  /** The root of the work tree. */
  readonly root: string;
  readonly input?: Buffer | string;
  /** The default of 30 seconds is for commands that only read. */
  readonly timeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs git and other programs as the user: with the user's configuration, hooks, filters, credential helpers and signing. Nothing else in
 * Postern does. Never asks: there is no terminal, no editor and no password prompt.
 */
export interface UserGit {
  run(args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  /** The output of a command. @throws PosternError `git_failed` unless its exit code is 0 */
  must(args: readonly string[], options: RunOptions): Promise<Buffer>;
  /** The first line of its output, or null if the exit code is not 0. */
  lineOf(args: readonly string[], options: RunOptions): Promise<string | null>;
  /** Runs another program. @returns null if it is not on PATH */
  runProgram(argv: readonly [string, ...string[]], options: RunOptions): Promise<ProgramResult | null>;
}

const readMs = 30_000;
/** For hooks that run a test suite, and for pushes over slow lines. */
export const longMs = 900_000;
const maxOutputBytes = 32 * 1024 * 1024;
const maxErrorBytes = 256 * 1024;
/** The most characters of output that are shown. */
const maxShownLength = 16_000;

/** Variables of another git command, which would apply to ours. @see `git rev-parse --local-env-vars` */
const localVariables = [
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_CONFIG",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_PARAMETERS",
  "GIT_DIR",
  "GIT_GRAFT_FILE",
  "GIT_IMPLICIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_INTERNAL_SUPER_PREFIX",
  "GIT_NO_REPLACE_OBJECTS",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_REPLACE_REF_BASE",
  "GIT_SHALLOW_FILE",
  "GIT_WORK_TREE",
];

const neverAsks = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  SSH_ASKPASS_REQUIRE: "never",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_MERGE_AUTOEDIT: "no",
  GIT_PAGER: "cat",
};

/** Only for commands with paths, because hooks inherit this variable, and their own pathspecs can be patterns. */
export const literalPaths = { GIT_LITERAL_PATHSPECS: "1" };

/** @param environment the user's, without the gateway's own variables */
export function createUserGit({
  pathVariable,
  environment,
}: {
  readonly pathVariable: string;
  readonly environment: () => Readonly<Record<string, string>>;
}): UserGit {
  async function runProgram(
    [name, ...args]: readonly [string, ...string[]],
    { root, input = "", timeoutMs = readMs, env = {} }: RunOptions,
  ): Promise<ProgramResult | null> {
    const program = await findExecutable(name, pathVariable);
    if (program === null) return null;
    const own = Object.entries(environment()).filter(([variable]) => !localVariables.includes(variable));
    const { exitCode, stdout, stderr, startError } = await runForOutput([program, ...args], {
      cwd: root,
      env: { ...Object.fromEntries(own), ...neverAsks, ...env },
      input,
      timeoutMs,
      maxOutputBytes,
      maxErrorBytes,
    });
    return { exitCode, stdout, stderr: `${stderr.toString("utf8")}${startError?.message ?? ""}` };
  }

  const run: UserGit["run"] = async (args, options) =>
    (await runProgram(["git", ...args], options)) ?? {
      exitCode: null,
      stdout: Buffer.alloc(0),
      stderr: "`git` is not on PATH. Install it.",
    };

  return {
    run,
    runProgram,
    async must(args, options) {
      const result = await run(args, options);
      if (result.exitCode === 0) return result.stdout;
      throw gitFailed(args[0] ?? "", result);
    },
    async lineOf(args, options) {
      const { exitCode, stdout } = await run(args, options);
      return exitCode === 0 ? (stdout.toString("utf8").split("\n", 1)[0] ?? "") : null;
    },
  };
}

/** @param what the command */
export function gitFailed(what: string, result: ProgramResult) {
  const output = shownOutput(result);
  const how =
    result.exitCode === null
      ? "was stopped: it took too long, printed too much, or could not be started"
      : `failed with exit code ${result.exitCode}`;
  const [last = ""] = output
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-1);
  return publishError(
    "git_failed",
    `\`git ${what}\` ${how}.${last === "" ? "" : ` It printed: ${last.slice(0, 300)}`}`,
    {
      output,
    },
  );
}

/** What a program printed, as plain text. If it is long, only the end. */
export function shownOutput({ stdout, stderr }: ProgramResult): string {
  return plainOutput(`${stdout.toString("utf8")}${stderr}`);
}

export function plainOutput(text: string): string {
  const plain = text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences of colors and progress bars
    .replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "")
    .replace(/\r+\n/g, "\n")
    .replace(/[^\n]*\r/g, "")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trim();
  return plain.length <= maxShownLength ? plain : `…${plain.slice(-maxShownLength)}`;
}
