import { findExecutable } from "../platform/executables.ts";
import { runCommand } from "../platform/run-command.ts";
import type { Finding } from "../wire/doctor.ts";
import { failure, ok, shellWord, warning } from "./finding.ts";

const oldestNode = 24;
/** The oldest git that the tests run with. */
const oldestGit = [2, 39] as const;
const timeoutMs = 10_000;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): readonly Finding[] {
  if (Number.parseInt(version, 10) >= oldestNode) return [ok("node", `Node.js ${version}.`)];
  return [failure("node", `Node.js ${version} is too old: ${oldestNode} is needed.`, `nvm install ${oldestNode}`)];
}

/** Whether git can be started, and is new enough for worktrees. */
export async function checkGit(pathVariable: string): Promise<readonly Finding[]> {
  const install = process.platform === "darwin" ? "xcode-select --install" : "sudo apt-get install git";
  const program = await findExecutable("git", pathVariable);
  if (program === null) return [failure("git", "There is no `git` on PATH: no worktrees and no diffs.", install)];
  const env = { PATH: pathVariable, LC_ALL: "C" };
  const { exitCode, stdout } = await runCommand([program, "--version"], { env, timeoutMs });
  const [text, major = "0", minor = "0"] = /(\d+)\.(\d+)[\d.]*/.exec(stdout) ?? [];
  if (exitCode !== 0 || text === undefined) {
    return [failure("git", `${program} does not tell its version.`, `${shellWord(program)} --version`)];
  }
  const isOld = Number(major) < oldestGit[0] || (Number(major) === oldestGit[0] && Number(minor) < oldestGit[1]);
  if (!isOld) return [ok("git", `git ${text} (${program}).`)];
  return [warning("git", `git ${text} (${program}) is older than ${oldestGit.join(".")}, the oldest tried.`, install)];
}
