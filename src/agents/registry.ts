import { isAbsolute } from "node:path";
import type { Kysely } from "kysely";
import { type Clock, systemClock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { isExecutableFile } from "../platform/executables.ts";
import type { Tables } from "../storage/schema.ts";
import type { ConfigureAgentInput } from "../wire/changes.ts";
import type { AgentEntry, ListAgentsOutput } from "../wire/coding.ts";
import { createAgentFacts } from "./agent-facts.ts";
import { createLaunchCheck, requireSupported } from "./agent-versions.ts";
import { agentEnvironment } from "./environment.ts";
import { agentError } from "./errors.ts";
import type { AgentTemplate, Environment } from "./template.ts";

/** A configured agent whose program was found. */
export interface ResolvedAgent {
  readonly template: AgentTemplate;
  /** Absolute path. */
  readonly binary: string;
}

/** The known agents, which of them are configured, and the default. */
export interface AgentRegistry {
  readonly templates: readonly AgentTemplate[];
  /** By name or alias, configured or not. @throws PosternError `agent_unknown` */
  template(nameOrAlias: string): AgentTemplate;
  /**
   * The agent of a request: by name or alias, else the default, else the only configured one.
   * @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing`
   */
  resolve(nameOrAlias: string | undefined): Promise<ResolvedAgent>;
  /**
   * The same, for a new or resumed process. If the program was changed, waits a few seconds for its version, then continues without it.
   * @throws PosternError also `agent_version_unsupported`
   */
  resolveForLaunch(nameOrAlias: string | undefined): Promise<ResolvedAgent>;
  /** Determines the versions of the configured agents, so that launches need not wait for them. */
  probeVersions(): Promise<void>;
  /** The agent's current environment. */
  environmentOf(template: AgentTemplate): Environment;
  /** The current environment, without the agents' keys, for programs that run as the user and are not agents. */
  userEnvironment(): Environment;
  /** The version of the program at `binary`; null if unknown. */
  versionOf(template: AgentTemplate, binary: string): Promise<string | null>;
  list(): Promise<ListAgentsOutput>;
  /** Drops the cached login state, after someone may have logged in or out. */
  loginChanged(name: string): void;
  /**
   * Configures an agent or changes its binary. The first configured agent does not become the default.
   * @throws PosternError `agent_unknown` | `agent_binary_missing` | `agent_version_unsupported`
   */
  configure(nameOrAlias: string, options?: { readonly binary?: string; readonly isDefault?: boolean }): Promise<void>;
  /**
   * Configures several agents and sets the default, all or nothing.
   * @throws PosternError `agent_unknown` | `agent_binary_missing` | `agent_version_unsupported` | `agent_not_configured`
   */
  configureAll(choices: readonly AgentChoice[], defaultAgent: string | null): Promise<void>;
  /** @throws PosternError `agent_unknown` | `agent_not_configured` */
  setDefault(nameOrAlias: string): Promise<void>;
  /** Idempotent. @throws PosternError `agent_unknown` */
  remove(nameOrAlias: string): Promise<void>;
}

/** An agent to configure. A null `binary` is looked up on PATH at each start. */
export interface AgentChoice {
  readonly name: string;
  readonly binary: string | null;
}

export interface RegistryDeps {
  readonly templates: readonly AgentTemplate[];
  readonly db: Kysely<Tables>;
  /** The gateway's environment, read at each call. */
  readonly gatewayEnv: () => Readonly<Record<string, string | undefined>>;
  /** Values that no agent may see, such as the store's address. */
  readonly secrets?: readonly string[];
  readonly clock?: Clock;
  readonly log?: Log;
}

interface Configured {
  readonly template: AgentTemplate;
  readonly configuredBinary: string | null;
  readonly isDefault: boolean;
}

/** A registry over the table `configured_agents`. */
export function createRegistry(deps: RegistryDeps): AgentRegistry {
  const { templates, db } = deps;
  const clock = deps.clock ?? systemClock;
  const facts = createAgentFacts(clock);
  const checkVersion = createLaunchCheck<ResolvedAgent>({
    versionOf: ({ template: agent, binary }) => facts.version(agent, binary, environmentOf(agent)),
    clock,
    log: deps.log ?? silentLog,
  });

  function template(nameOrAlias: string): AgentTemplate {
    const found = templates.find(({ name, aliases }) => name === nameOrAlias || aliases.includes(nameOrAlias));
    if (found !== undefined) return found;
    const names = templates.map(({ name }) => name).join(", ");
    throw agentError("agent_unknown", `Unknown agent "${nameOrAlias}". Known agents: ${names}.`);
  }

  function environmentOf(agent: AgentTemplate): Environment {
    return agentEnvironment(deps.gatewayEnv(), agent, { templates, secrets: deps.secrets ?? [] });
  }

  /** In the order of the templates. Rows of agents that were removed from the config file are kept, in case they are added again. */
  async function configured(): Promise<readonly Configured[]> {
    const rows = await db.selectFrom("configured_agents").selectAll().execute();
    return templates.flatMap((agent) => {
      const row = rows.find(({ name }) => name === agent.name);
      if (row === undefined) return [];
      return [{ template: agent, configuredBinary: row.binary, isDefault: row.is_default === 1 }];
    });
  }

  async function pick(nameOrAlias: string | undefined): Promise<Configured> {
    const all = await configured();
    if (nameOrAlias !== undefined) {
      const { name } = template(nameOrAlias);
      const named = all.find((one) => one.template.name === name);
      if (named !== undefined) return named;
      throw agentError("agent_not_configured", `${name} is not configured. Run \`postern coding setup\`.`);
    }
    const chosen = all.find(({ isDefault }) => isDefault) ?? (all.length === 1 ? all[0] : undefined);
    if (chosen !== undefined) return chosen;
    const why =
      all.length === 0
        ? "No agent is configured. Run `postern coding setup`."
        : `Several agents are configured and none is the default. Name one (${all.map((one) => one.template.name).join(", ")}), or set one with \`postern coding setup --default <agent>\`.`;
    throw agentError("agent_not_configured", why);
  }

  async function entry(agent: AgentTemplate, binary: string | null, isDefault: boolean): Promise<AgentEntry> {
    const env = environmentOf(agent);
    const [version, login] =
      binary === null
        ? [null, "unknown" as const]
        : await Promise.all([facts.version(agent, binary, env), facts.login(agent, binary, env)]);
    return { name: agent.name, aliases: [...agent.aliases], isDefault, binary, version, login };
  }

  async function configureAll(choices: readonly AgentChoice[], defaultAgent: string | null): Promise<void> {
    const chosen = choices.map(({ name, binary }) => ({ agent: template(name), binary }));
    for (const { agent, binary } of chosen) {
      if (binary !== null && !(await isExecutableFile(binary))) throw binaryMissing(agent, binary);
      const env = environmentOf(agent);
      const found = await facts.binary(agent, binary, env);
      if (found === null) throw binaryMissing(agent, binary);
      if (agent.releases !== null) requireSupported(agent, await facts.version(agent, found, env));
    }
    const first = defaultAgent === null ? null : template(defaultAgent).name;
    if (first !== null && !chosen.some(({ agent }) => agent.name === first)) await pick(first);
    await db.transaction().execute(async (tx) => {
      for (const { agent, binary } of chosen) {
        await tx
          .insertInto("configured_agents")
          .values({ name: agent.name, binary, is_default: 0, configured_at: clock.now() })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ binary }))
          .execute();
      }
      if (first !== null) await makeDefault(tx, first);
    });
  }

  async function resolve(nameOrAlias: string | undefined): Promise<ResolvedAgent> {
    const chosen = await pick(nameOrAlias);
    const env = environmentOf(chosen.template);
    const binary = await facts.binary(chosen.template, chosen.configuredBinary, env);
    if (binary !== null) return { template: chosen.template, binary };
    throw binaryMissing(chosen.template, chosen.configuredBinary);
  }

  return {
    templates,
    template,
    environmentOf,
    userEnvironment: () => agentEnvironment(deps.gatewayEnv(), null, { templates, secrets: deps.secrets ?? [] }),
    resolve,

    async resolveForLaunch(nameOrAlias) {
      const agent = await resolve(nameOrAlias);
      await checkVersion(agent);
      return agent;
    },

    async probeVersions() {
      for (const { template: agent, configuredBinary } of await configured()) {
        if (agent.releases === null) continue;
        const env = environmentOf(agent);
        const binary = await facts.binary(agent, configuredBinary, env);
        if (binary !== null) await facts.version(agent, binary, env);
      }
    },

    async list() {
      const known = await configured();
      const entries = await Promise.all(
        templates.map(async (agent) => {
          const mine = known.find((one) => one.template.name === agent.name);
          const binary = await facts.binary(agent, mine?.configuredBinary ?? null, environmentOf(agent));
          if (mine === undefined && binary === null) return null;
          return { isConfigured: mine !== undefined, entry: await entry(agent, binary, mine?.isDefault ?? false) };
        }),
      );
      const found = entries.filter((one) => one !== null);
      const agents = found.filter((one) => one.isConfigured).map((one) => one.entry);
      return {
        agents,
        availableAgents: found.filter((one) => !one.isConfigured).map((one) => one.entry),
        default: agents.find(({ isDefault }) => isDefault)?.name ?? null,
      };
    },

    versionOf: (agent, binary) => facts.version(agent, binary, environmentOf(agent)),

    loginChanged: (name) => facts.forgetLogin(name),

    configure: (nameOrAlias, { binary = null, isDefault = false } = {}) =>
      configureAll([{ name: nameOrAlias, binary }], isDefault ? nameOrAlias : null),

    configureAll,

    async setDefault(nameOrAlias) {
      const { template: agent } = await pick(template(nameOrAlias).name);
      await db.transaction().execute((tx) => makeDefault(tx, agent.name));
    },

    async remove(nameOrAlias) {
      await db.deleteFrom("configured_agents").where("name", "=", template(nameOrAlias).name).execute();
    },
  };
}

async function makeDefault(db: Kysely<Tables>, name: string): Promise<void> {
  await db.updateTable("configured_agents").set({ is_default: 0 }).where("name", "!=", name).execute();
  await db.updateTable("configured_agents").set({ is_default: 1 }).where("name", "=", name).execute();
}

function binaryMissing({ name, binaryName, releases }: AgentTemplate, given: string | null): Error {
  const install = releases === null ? "Install it" : `Install it (\`npm install --global ${releases.npmPackage}\`)`;
  const what = given === null ? `\`${binaryName}\` is not on PATH` : `${given} is not an executable program`;
  return agentError(
    "agent_binary_missing",
    `Cannot start ${name}: ${what}. ${install}, or run \`postern coding setup\`.`,
  );
}

/**
 * Configures an agent, or changes only the given settings.
 * @throws PosternError `agent_unknown` | `agent_binary_missing` | `invalid_request` (the binary is not an absolute path)
 */
export async function changeAgent(
  registry: AgentRegistry,
  nameOrAlias: string,
  { binary, isDefault }: ConfigureAgentInput,
): Promise<void> {
  const { name } = registry.template(nameOrAlias);
  if (typeof binary === "string" && !isAbsolute(binary)) {
    throw agentError(
      "invalid_request",
      `${JSON.stringify(binary)} is not an absolute path. Use null to look it up on PATH.`,
    );
  }
  if (binary !== undefined || !(await isConfigured(registry, name))) {
    await registry.configure(name, {
      ...(typeof binary === "string" ? { binary } : {}),
      isDefault: isDefault === true,
    });
  } else if (isDefault === true) {
    await registry.setDefault(name);
  }
}

async function isConfigured(registry: AgentRegistry, name: string): Promise<boolean> {
  try {
    await registry.resolve(name);
    return true;
  } catch (error) {
    if (hasCode(error, "agent_not_configured")) return false;
    if (hasCode(error, "agent_binary_missing")) return true;
    throw error;
  }
}
