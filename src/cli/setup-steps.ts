import { PosternError } from "../core/errors.ts";
import { plainLine } from "./plain-text.ts";
import type { CliContext, CliStores, KnownAgent, VersionNotice } from "./ports.ts";

export interface SetupPlan {
  readonly agents: readonly { readonly name: string; readonly binary: string | null }[];
  readonly defaultAgent: string | null;
}

export interface SetupPlace {
  readonly stores: CliStores;
  readonly context: CliContext;
}

/** Why this version of the agent is not started; null if it is. */
export function tooOld({ name, version }: KnownAgent, { agents }: CliStores): VersionNotice | null {
  const notice = agents.versionNotice(name, version);
  return notice?.kind === "too_old" ? notice : null;
}

export function noticeText({ message, fix }: VersionNotice): string {
  return plainLine(fix === null ? message : `${message} Run \`${fix}\`.`);
}

/**
 * Installs or updates an agent from npm, with its output in this terminal.
 * @returns its program; null if it is on PATH @throws PosternError `agent_binary_missing` if there is no program after that
 */
export async function installAgent(
  agent: KnownAgent,
  { stores, context }: SetupPlace,
): Promise<{ readonly binary: string | null }> {
  const command = agent.installCommand;
  if (command === null)
    throw missing(`${agent.name} is not on npm. Install it yourself and pass its path with --binary.`);
  context.stderr(`$ ${command.join(" ")}\n`);
  const exitCode = await context.ports.runProgram(command, stores.agents.installEnvironment(agent.name));
  if (exitCode !== 0) throw missing(`\`${command.join(" ")}\` failed; see its output above. Nothing was configured.`);
  if ((await stores.agents.locate(agent.name, null)).binary !== null) return { binary: null };
  throw missing(
    `${plainLine(agent.title)} is installed, but npm's program folder is not on PATH. Run \`npm prefix --global\` to find it, and pass the program in its \`bin\` folder with --agent ${agent.name} --binary <path>.`,
  );
}

/** Runs the agent's own login in this terminal. @returns whether the agent is logged in now */
export async function logInAgent(agent: KnownAgent, { stores, context }: SetupPlace): Promise<boolean> {
  const { binary, loginMethods, name } = agent;
  if (binary === null || loginMethods.length === 0) return false;
  const { argv, env } = stores.agents.logIn(name, binary);
  context.stderr(`$ ${argv.join(" ")}\n`);
  await context.ports.runProgram(argv, env);
  return (await stores.agents.locate(name, binary)).login === "logged_in";
}

function missing(message: string): PosternError {
  return new PosternError("agent_binary_missing", message);
}
