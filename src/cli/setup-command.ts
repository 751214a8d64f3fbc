import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import type { AgentEntry, ListAgentsOutput } from "../wire/coding.ts";
import { agentTable } from "./agent-table.ts";
import { absolutePath, type CommonOptions, describe } from "./options.ts";
import { printableJson } from "./plain-text.ts";
import type { CliContext, CliStores } from "./ports.ts";
import { withStores } from "./with-stores.ts";

interface SetupOptions extends CommonOptions {
  readonly yes?: true;
  readonly default?: string;
  readonly agent?: string;
  readonly binary?: string;
}

/** `postern coding setup`: turns agents found on this machine into configured ones. */
export function addSetupCommand(group: Command, context: CliContext): void {
  describe(group.command("setup"), [
    "postern coding setup --yes",
    "postern coding setup --yes --default claude-code",
    "postern coding setup --agent codex --binary /opt/codex/bin/codex",
  ])
    .description("configure the agents of this machine")
    .option("--yes", "ask nothing: configure every agent that is found")
    .option("--default <agent>", "the agent for requests that name none")
    .option("--agent <name>", "configure this agent only")
    .option("--binary <path>", "with --agent: its program, where PATH does not find it")
    .action((options: SetupOptions) => setUp(options, context));
}

async function setUp(options: SetupOptions, context: CliContext): Promise<void> {
  if (options.binary !== undefined && options.agent === undefined) {
    throw new PosternError("usage", "--binary needs --agent: which agent's program is it?");
  }
  if (!options.yes && options.agent === undefined && options.default === undefined) {
    const reason = context.interactive ? "The questions are not built yet" : "There is no terminal to ask questions on";
    throw new PosternError(
      "usage",
      `${reason}: add --yes to configure every agent that is found, or --agent <name> [--binary <path>], and --default <agent>.`,
    );
  }
  const agents = await withStores(context, (stores) => configure(options, { stores, cwd: context.cwd }));
  if (options.json) return context.stdout(`${printableJson(agents)}\n`);
  context.stdout(`${agentTable(agents)}\n`);
  if (agents.default === null && agents.agents.length > 1) {
    context.stderr("No default: requests must name an agent until `postern coding setup --default <agent>`.\n");
  }
}

async function configure(
  options: SetupOptions,
  { stores, cwd }: { stores: CliStores; cwd: string },
): Promise<ListAgentsOutput> {
  const found = await stores.agents.list();
  if (options.agent !== undefined) {
    const binary = options.binary === undefined ? null : absolutePath(options.binary, cwd);
    await stores.agents.configure(options.agent, { binary });
  } else if (options.yes) {
    const detected = [...found.availableAgents, ...found.agents].filter((agent) => agent.binary !== null);
    if (detected.length === 0) {
      throw new PosternError(
        "agent_binary_missing",
        "No agent found on PATH. Install one (`npm i -g @anthropic-ai/claude-code`, `npm i -g @openai/codex`) or name it with --agent and --binary.",
      );
    }
    for (const agent of found.availableAgents) await stores.agents.configure(agent.name, { binary: null });
  }
  if (options.default !== undefined) {
    const name = options.default;
    const waiting = (await stores.agents.list()).availableAgents.find((agent) => isNamed(agent, name));
    if (waiting !== undefined) await stores.agents.configure(waiting.name, { binary: null });
    await stores.agents.setDefault(name);
  }
  return stores.agents.list();
}

function isNamed(agent: AgentEntry, name: string): boolean {
  return agent.name === name || agent.aliases.includes(name);
}
