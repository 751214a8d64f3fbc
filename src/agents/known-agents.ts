import { findExecutable, isExecutableFile } from "../platform/executables.ts";
import type { LoginMethod } from "../wire/agent-setup.ts";
import type { AgentEntry } from "../wire/coding.ts";
import type { AgentRegistry } from "./registry.ts";
import type { AgentTemplate, Environment } from "./template.ts";

/** What set-up has to know of an agent, found or not. */
export interface KnownAgent extends AgentEntry {
  /** As its vendor calls it. */
  readonly title: string;
  readonly isConfigured: boolean;
  readonly npmPackage: string | null;
  /** Installs it; null for one that npm does not have. */
  readonly installCommand: Argv | null;
  /** Empty for an agent without a log-in of its own. */
  readonly loginMethods: LoginMethod[];
  /** The vendor's key variable that is set; null when none is. */
  readonly keyVariable: string | null;
}

/** A program and its arguments. */
export type Argv = readonly [string, ...string[]];

/** What set-up looks at, in a terminal and on the page. */
export interface KnownAgents {
  /** Every agent that Postern knows, in the order of the templates. */
  list(): Promise<readonly KnownAgent[]>;
  /** One agent with its program at `binary`, or with null where PATH finds it by now. Not said to be configured. */
  locate(name: string, binary: string | null): Promise<KnownAgent>;
}

/** @see KnownAgents */
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
      agents.loginChanged(template.name); // it is asked for right after somebody logged in
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
    npmPackage: template.npmPackage,
    installCommand: installCommand(template),
    loginMethods: loginMethods(template),
    keyVariable: template.keyVariables.find((variable) => Boolean(env[variable])) ?? null,
  };
}

/** The command that installs an agent; null for one that npm does not have. */
export function installCommand({ npmPackage }: Pick<AgentTemplate, "npmPackage">): Argv | null {
  return npmPackage === null ? null : ["npm", "install", "--global", npmPackage];
}

/** What a package runs at its installation sees no key. @param env the agent's */
export function installEnvironment(
  { keyVariables }: Pick<AgentTemplate, "keyVariables">,
  env: Environment,
): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !keyVariables.includes(name)));
}

/** The ways to log in to an agent; a log-in that works from anywhere is a way with a code. */
export function loginMethods({ loginArgs, codeLoginArgs }: AgentTemplate): LoginMethod[] {
  return [
    ...(loginArgs.length === 0 ? [] : (["browser"] as const)),
    ...(codeLoginArgs === undefined ? [] : (["code"] as const)),
  ];
}

/** Arguments of the log-in; null for a way that the agent does not have. */
export function loginArguments(
  { loginArgs, codeLoginArgs }: AgentTemplate,
  method: LoginMethod = "browser",
): readonly string[] | null {
  const args = method === "code" ? (codeLoginArgs ?? []) : loginArgs;
  return args.length === 0 ? null : args;
}
