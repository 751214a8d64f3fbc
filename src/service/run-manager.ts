import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { type CommandResult, runCommand } from "../platform/run-command.ts";

/** Longer than a gateway may take to stop. */
const timeoutMs = 60_000;

/** Runs the manager's own command, by argv. */
export type RunManager = (...args: readonly string[]) => Promise<CommandResult>;

/** @param environment with PATH, and what the command needs to find its manager */
export function runManager(program: string, environment: Readonly<Record<string, string>>): RunManager {
  return (...args) => runCommand([program, ...args], { env: environment, timeoutMs });
}

/** @throws PosternError `service_failed` with what the command said, unless it ended with 0 */
export async function must(run: RunManager, ...args: readonly string[]): Promise<CommandResult> {
  const result = await run(...args);
  if (result.exitCode === 0) return result;
  const said = result.stderr.trim() || result.stdout.trim() || `exit ${result.exitCode}`;
  throw new PosternError("service_failed", `\`${args.join(" ")}\` did not work: ${said}`);
}

/** @returns whether the file was another one before */
export async function writeWhenChanged(path: string, text: string): Promise<boolean> {
  if ((await readOrNull(path)) === text) return false;
  await mkdir(dirname(path), { recursive: true });
  await writeFileAtomic(path, text);
  return true;
}

/** @returns whether there was a file */
export async function removeFile(path: string): Promise<boolean> {
  const there = (await readOrNull(path)) !== null;
  await rm(path, { force: true });
  return there;
}

/** Null when there is no such file. */
export async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}
