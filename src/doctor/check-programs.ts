import { findExecutable } from "../platform/executables.ts";
import { runCommand } from "../platform/run-command.ts";
import type { AgentEntry, ListAgentsOutput } from "../wire/coding.ts";
import type { Finding } from "../wire/doctor.ts";
import { failure, ok, warning } from "./finding.ts";

/** The commands that fix an agent. */
export interface AgentFixes {
  /** Installs and configures it if it is missing; null if unknown. */
  readonly install: string | null;
  /** Replaces the installed version. */
  readonly reinstall: string | null;
  /** Logs it in; null for an agent without a login. */
  readonly logIn: string | null;
}

/** An installed version that is too old, or newer than the versions that were tested. */
export interface VersionNotice {
  readonly kind: "too_old" | "untested";
  readonly message: string;
  readonly fix: string | null;
}

export type SmokeResult =
  | { readonly started: true; readonly afterMs: number }
  | { readonly started: false; readonly reason: string };

export interface SandboxProblem {
  readonly message: string;
  readonly fix: string | null;
}

/** Program, version and login of each agent, and the default. */
export function checkAgents(list: ListAgentsOutput, fixesOf: (name: string) => AgentFixes): readonly Finding[] {
  const { agents, availableAgents } = list;
  const found = availableAgents.map(({ name }) => name);
  if (agents.length === 0) {
    const message =
      found.length === 0
        ? "No agents configured, and none found on PATH."
        : `No agents configured. Found on PATH: ${found.join(", ")}.`;
    return [failure("agents", message, "postern coding setup")];
  }
  const [first] = agents;
  const choice =
    agents.length > 1 && list.default === null && first !== undefined
      ? [
          warning(
            "agents",
            "No default agent: each request must specify one.",
            `postern coding setup --default ${first.name}`,
          ),
        ]
      : [];
  return [...choice, ...agents.map((agent) => checkAgent(agent, fixesOf(agent.name)))];
}

function checkAgent({ name, binary, version, login }: AgentEntry, { install, reinstall, logIn }: AgentFixes): Finding {
  const check = `agent ${name}`;
  if (binary === null) return failure(check, "Program not found.", install);
  if (version === null) {
    return failure(
      check,
      `${binary} does not print its version: it failed, or took longer than 30 seconds.`,
      reinstall,
    );
  }
  const what = `${version} (${binary})`;
  switch (login) {
    case "logged_in":
      return ok(check, `${what}, logged in.`);
    case "key_variable":
      return ok(check, `${what}, with an API key.`);
    case "logged_out":
      return failure(check, `${what} is not logged in.`, logIn);
    case "unknown":
      return logIn === null
        ? ok(check, `${what}.`)
        : warning(check, `${what} does not report whether it is logged in.`, logIn);
  }
}

/** @param notice null for a supported version */
export function checkVersion(name: string, notice: VersionNotice | null): readonly Finding[] {
  if (notice === null) return [];
  const { kind, message, fix } = notice;
  return [(kind === "too_old" ? failure : warning)(`version of ${name}`, message, fix)];
}

export function checkSmoke(name: string, result: SmokeResult, { reinstall }: AgentFixes): Finding {
  const check = `start of ${name}`;
  if (result.started) return ok(check, `Ready for a prompt after ${(result.afterMs / 1000).toFixed(1)} s.`);
  return failure(check, result.reason, reinstall);
}

/** Whether an agent can run commands in its sandbox. */
export function checkSandbox(name: string, problem: SandboxProblem | null): Finding {
  const check = `sandbox of ${name}`;
  return problem === null ? ok(check, "Working.") : warning(check, problem.message, problem.fix);
}

const oldestNode = 24;
/** The oldest Git that the tests run with. */
const oldestGit = [2, 39] as const;
const timeoutMs = 10_000;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): readonly Finding[] {
  if (Number.parseInt(version, 10) >= oldestNode) return [ok("node", `Node.js ${version}.`)];
  return [
    failure(
      "node",
      `Node.js ${version} is too old. Version ${oldestNode} or newer is required.`,
      `nvm install ${oldestNode}`,
    ),
  ];
}

const packageManagers = [
  "apt-get install git",
  "dnf install git",
  "apk add git",
  "pacman -S git",
  "zypper install git",
];

/** Installs Git with this system's package manager. */
async function installCommand(pathVariable: string): Promise<string> {
  if (process.platform === "darwin") return "xcode-select --install";
  const folders = `${pathVariable}:/usr/sbin:/usr/bin:/sbin:/bin`;
  const found = await Promise.all(
    packageManagers.map((command) => findExecutable(command.split(" ", 1)[0] ?? "", folders)),
  );
  const command = packageManagers.find((_, index) => found[index] !== null) ?? "apt-get install git";
  return process.geteuid?.() === 0 ? command : `sudo ${command}`;
}

export async function checkGit(pathVariable: string): Promise<readonly Finding[]> {
  const install = await installCommand(pathVariable);
  const program = await findExecutable("git", pathVariable);
  if (program === null) return [failure("git", "`git` is not on PATH. Worktrees and diffs need it.", install)];
  const env = { PATH: pathVariable, LC_ALL: "C" };
  const { exitCode, stdout } = await runCommand([program, "--version"], { env, timeoutMs });
  const [text, major = "0", minor = "0"] = /(\d+)\.(\d+)[\d.]*/.exec(stdout) ?? [];
  if (exitCode !== 0 || text === undefined) {
    return [failure("git", `${program} does not print its version. Install it again.`, install)];
  }
  const isOld = Number(major) < oldestGit[0] || (Number(major) === oldestGit[0] && Number(minor) < oldestGit[1]);
  if (!isOld) return [ok("git", `git ${text} (${program}).`)];
  return [
    warning(
      "git",
      `git ${text} (${program}) is older than ${oldestGit.join(".")}, the oldest tested version.`,
      install,
    ),
  ];
}
