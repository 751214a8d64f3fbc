import { findExecutable, isExecutableFile } from "../platform/executables.ts";
import type { LoginMethod } from "../wire/agent-setup.ts";
import type { AgentEntry } from "../wire/coding.ts";
import type { AgentRegistry } from "./registry.ts";
import type { AgentTemplate, Environment } from "./template.ts";

/** What setup needs to know about an agent, installed or not. */
export interface KnownAgent extends AgentEntry {
  /** The vendor's name for it. */
  readonly title: string;
  readonly isConfigured: boolean;
  readonly npmPackage: string | null;
  /** Null if it is not on npm. */
  readonly installCommand: Argv | null;
  /** Empty if the agent has no login. */
  readonly loginMethods: LoginMethod[];
  /** The vendor's key variable that is set, or null. */
  readonly keyVariable: string | null;
}

export type Argv = readonly [string, ...string[]];

/** The agents as setup shows them, in the terminal and on the page. */
export interface KnownAgents {
  /** All agents, in the order of the templates. */
  list(): Promise<readonly KnownAgent[]>;
  /** One agent with its program at `binary`, or on PATH if null. `isConfigured` is false. */
  locate(name: string, binary: string | null): Promise<KnownAgent>;
}

export function createKnownAgents(agents: AgentRegistry): KnownAgents {
  return {
    async list() {
      const { agents: configured, availableAgents } = await agents.list();
      return agents.templates.map((template) => {
        const isThis = ({ name }: { readonly name: string }): boolean => name === template.name;
        const isConfigured = configured.some(isThis);
        const entry = [...configured, ...availableAgents].find(isThis);
        return { ...absent, ...factsOf(template, agents.environmentOf(template)), ...entry, isConfigured };
      });
    },

    async locate(name, binary) {
      const template = agents.template(name);
      const env = agents.environmentOf(template);
      agents.loginChanged(template.name); // the user may have just logged in
      const found = binary ?? (await findExecutable(template.binaryName, env["PATH"] ?? ""));
      const isThere = found !== null && (await isExecutableFile(found));
      const [version, login] = isThere
        ? await Promise.all([agents.versionOf(template, found), template.loginState(found, env)])
        : [null, "unknown" as const];
      return { ...absent, ...factsOf(template, env), isConfigured: false, binary: found, version, login };
    },
  };
}

const absent = { isDefault: false, binary: null, version: null, login: "unknown" } as const;

function factsOf(template: AgentTemplate, env: Environment) {
  return {
    name: template.name,
    aliases: [...template.aliases],
    title: template.displayName,
    npmPackage: template.releases?.npmPackage ?? null,
    installCommand: installCommand(template),
    loginMethods: loginMethods(template),
    keyVariable: template.keyVariables.find((variable) => Boolean(env[variable])) ?? null,
  };
}

/** The npm command that installs an agent; null if it is not on npm. */
export function installCommand({ releases }: Pick<AgentTemplate, "releases">): Argv | null {
  return releases === null ? null : ["npm", "install", "--global", releases.npmPackage];
}

/** Without API keys, which install scripts of packages must not see. @param env the agent's environment */
export function installEnvironment(
  { keyVariables }: Pick<AgentTemplate, "keyVariables">,
  env: Environment,
): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !keyVariables.includes(name)));
}

/** The ways to log in; `code` is a login that works from another machine. */
export function loginMethods({ loginArgs, codeLoginArgs }: AgentTemplate): LoginMethod[] {
  return [
    ...(loginArgs.length === 0 ? [] : (["browser"] as const)),
    ...(codeLoginArgs === undefined ? [] : (["code"] as const)),
  ];
}

/** Arguments of the login; null if the agent does not have this method. */
export function loginArguments(
  { loginArgs, codeLoginArgs }: AgentTemplate,
  method: LoginMethod = "browser",
): readonly string[] | null {
  const args = method === "code" ? (codeLoginArgs ?? []) : loginArgs;
  return args.length === 0 ? null : args;
}
