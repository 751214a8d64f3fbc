import { realpath } from "node:fs/promises";
import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import type { Folder, FolderScope } from "../wire/access.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";
import type { SignInLink } from "../wire/sign-in.ts";
import { minutesUntil, runningAddress } from "./account-command.ts";
import { withStores } from "./context.ts";
import { trustNotice } from "./folder-command.ts";
import { absolutePath, type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext, CliStores, KnownAgent } from "./ports.ts";
import { installAgent, logInAgent, noticeText, type SetupPlan, tooOld } from "./setup-steps.ts";

/** The flags of `postern coding setup`. */
interface SetupOptions extends CommonOptions {
  readonly yes?: true;
  readonly default?: string;
  readonly agent?: string;
  readonly binary?: string;
  readonly install?: true;
  /** If undefined, setup asks whether to log in; without questions, it does not log in. */
  readonly login?: boolean;
  readonly folder?: string;
  readonly link?: true;
  readonly once?: true;
}

/** Not `exec`, to act without asking: that is a separate decision. */
const folderScopes: readonly FolderScope[] = ["files", "coding"];

interface SetUp {
  readonly agents: ListAgentsOutput;
  /** Notices about the versions of configured agents. */
  readonly notices: readonly string[];
  readonly folder: Folder | null;
  readonly signIn: SignInLink | null;
}

/** `postern coding setup`: configures agents of this machine, with questions or flags. */
export function addSetupCommand(group: Command, context: CliContext): void {
  describe(group.command("setup"), [
    "postern coding setup",
    "postern coding setup --yes",
    "postern coding setup --yes --default claude-code",
    "postern coding setup --agent codex --install --login",
    "postern coding setup --agent codex --binary /opt/codex/bin/codex",
    "postern coding setup --yes --once --folder ~/code --link",
  ])
    .description("choose agents, install them, log in and set the default; interactive in a terminal")
    .option("--yes", "configure every agent found, without prompting")
    .option("--default <agent>", "the agent for requests that do not specify one")
    .option("--agent <name>", "configure only this agent, without prompting")
    .option("--binary <path>", "with --agent: the path of its program, if it is not on PATH")
    .option(
      "--install",
      "install missing or outdated agents from npm: with --agent this agent, with --yes all that are on npm",
    )
    .option("--login", "log in, in this terminal, unless the agent is logged in or has an API key")
    .option("--no-login", "do not log in, and do not ask")
    .option("--folder <path>", `also register this folder, with the scopes ${folderScopes.join(" and ")}`)
    .option("--link", "also print a single-use link that signs in a browser as you")
    .option("--once", "do nothing if an agent is already configured; for start-up scripts")
    .action((options: SetupOptions) => setUp(options, context));
}

async function setUp(options: SetupOptions, context: CliContext): Promise<void> {
  if (options.binary !== undefined && options.agent === undefined) {
    throw new PosternError("usage", "--binary needs --agent.");
  }
  if (options.install && options.agent === undefined && !options.yes) {
    throw new PosternError("usage", "--install needs --agent, or --yes for all agents on npm.");
  }
  if (options.login && !context.interactive) {
    throw new PosternError("usage", "--login needs a terminal to log in.");
  }
  const saysAll = options.yes || options.agent !== undefined;
  if (!saysAll && options.default === undefined && (!context.interactive || options.json)) {
    throw new PosternError(
      "usage",
      "Not running in a terminal, so setup cannot ask questions. Add --yes to configure every agent found, or --agent <name> [--binary <path>] and --default <agent>.",
    );
  }
  const address = options.link ? await runningAddress(context) : null;
  const done = await withStores(context, async (stores): Promise<SetUp | null> => {
    // Each agent is run to get its version, which takes seconds for some.
    if (context.interactive && !options.json) context.stderr("Looking for agents on this machine…\n");
    const known = await stores.agents.known();
    if (options.once && known.some(({ isConfigured }) => isConfigured)) {
      context.stderr("Already set up. Nothing changed.\n");
      return { ...(await configured(stores)), folder: null, signIn: null };
    }
    const asks = !saysAll && context.interactive && !options.json && !setsDefaultOnly(options, known);
    const plan = asks
      ? await (await import("./setup-questions.ts")).askForPlan(known, options, { stores, context })
      : await planByFlags(known, options, { stores, context });
    if (plan === null) return null;
    // Agents come last: `--once` takes a configured agent as proof that setup finished.
    const folder =
      options.folder === undefined ? null : await addFolder(stores, absolutePath(options.folder, context.cwd));
    await stores.agents.configure(plan.agents, plan.defaultAgent);
    const signIn = options.link ? await stores.browsers.createLink(address, null) : null;
    return { ...(await configured(stores)), folder, signIn };
  });
  if (done === null) throw new PosternError("cancelled", "Nothing was configured.");
  report(done, options, context);
}

async function configured({ agents: stored }: CliStores): Promise<Pick<SetUp, "agents" | "notices">> {
  const agents = await stored.list();
  const notices = agents.agents.flatMap(({ name, version }) => stored.versionNotice(name, version) ?? []);
  return { agents, notices: notices.map(noticeText) };
}

/** A registered folder keeps its scopes. */
async function addFolder(stores: CliStores, path: string): Promise<Folder> {
  const real = await realpath(path).catch(() => path); // `add` reports a missing folder
  const registered = (await stores.folders.list()).find((folder) => folder.path === real);
  return registered ?? (await stores.folders.add(path, folderScopes));
}

function report({ agents, notices, folder, signIn }: SetUp, { json, once }: SetupOptions, context: CliContext): void {
  if (json) {
    const more = { ...(folder !== null && { folder }), ...(signIn !== null && { signIn }) };
    return context.stdout(`${printableJson({ ...agents, ...more })}\n`);
  }
  context.stdout(`${agentTable(agents)}\n`);
  for (const notice of notices) context.stderr(`${notice}\n`);
  if (agents.default === null && agents.agents.length > 1) {
    context.stderr("No default agent: requests must specify one. To set it: postern coding setup --default <agent>\n");
  }
  if (once) {
    for (const { name } of agents.agents.filter(({ login }) => login === "logged_out")) {
      context.stderr(
        `${name} is not logged in. Run \`postern coding setup --agent ${name} --login\`, or set its API key variable.\n`,
      );
    }
  }
  if (folder !== null) {
    context.stdout(`Registered ${plainLine(folder.path)} for ${folder.scopes.join(", ")}.\n`);
    context.stderr(trustNotice);
  }
  if (signIn !== null) {
    const minutes = minutesUntil(signIn.expiresAt, context.clock);
    context.stdout(`Sign in (single use, expires in ${minutes} minutes): ${signIn.url}\n`);
  }
}

/** `--default` with a configured agent needs no questions. */
function setsDefaultOnly({ default: name }: SetupOptions, known: readonly KnownAgent[]): boolean {
  return name !== undefined && known.some((agent) => agent.isConfigured && isNamed(agent, name));
}

async function planByFlags(
  known: readonly KnownAgent[],
  options: SetupOptions,
  place: { readonly stores: CliStores; readonly context: CliContext },
): Promise<SetupPlan> {
  const { context, stores } = place;
  const named = (name: string): KnownAgent | undefined => known.find((agent) => isNamed(agent, name));
  const asked: { name: string; binary: string | null }[] = [];
  if (options.agent !== undefined) {
    const binary = options.binary === undefined ? null : absolutePath(options.binary, context.cwd);
    asked.push({ name: options.agent, binary });
  } else if (options.yes) {
    const here = known.filter(({ binary, npmPackage }) => binary !== null || (options.install && npmPackage !== null));
    if (here.length === 0) {
      throw new PosternError(
        "agent_binary_missing",
        "No agent found on PATH. Install one (`npm i -g @anthropic-ai/claude-code`, `npm i -g @openai/codex`, or --install), or give its path with --agent and --binary.",
      );
    }
    asked.push(...here.filter(({ isConfigured }) => !isConfigured).map(({ name }) => ({ name, binary: null })));
  }
  const wanted = options.default === undefined ? undefined : named(options.default);
  const isAsked = asked.some(({ name }) => wanted !== undefined && isNamed(wanted, name));
  if (wanted !== undefined && wanted.binary !== null && !wanted.isConfigured && !isAsked) {
    asked.push({ name: wanted.name, binary: null });
  }
  const agents: { name: string; binary: string | null }[] = [];
  const tooOldAgents: string[] = [];
  for (const choice of asked) {
    let { binary } = choice;
    const agent = named(choice.name);
    const old = agent === undefined || binary !== null ? null : tooOld(agent, stores);
    if (options.install && agent !== undefined && binary === null && (agent.binary === null || old !== null)) {
      binary = (await installAgent(agent, place)).binary;
    } else if (old !== null && options.yes) {
      // Skips this agent, because an error would leave the other agents unconfigured too.
      tooOldAgents.push(noticeText(old));
      continue;
    }
    agents.push({ name: choice.name, binary });
    if (!options.login || agent === undefined) continue;
    const now = await stores.agents.locate(agent.name, binary);
    if (now.login === "logged_out" || now.login === "unknown") await logInAgent(now, place);
  }
  const [reason] = tooOldAgents;
  if (reason !== undefined && agents.length === 0 && !known.some(({ isConfigured }) => isConfigured)) {
    throw new PosternError("agent_version_unsupported", reason);
  }
  for (const text of tooOldAgents) context.stderr(`Not configured: ${text}\n`);
  return { agents, defaultAgent: options.default ?? defaultWithoutAsking(options, known, agents) };
}

/** The default agent without questions: the first with a login or a key. An existing default is kept. */
function defaultWithoutAsking(
  { once, yes }: SetupOptions,
  known: readonly KnownAgent[],
  chosen: SetupPlan["agents"],
): string | null {
  if (!(once || yes) || known.some(({ isDefault }) => isDefault)) return null;
  const works = (agent: KnownAgent): boolean =>
    chosen.some(({ name }) => isNamed(agent, name)) && (agent.login === "logged_in" || agent.login === "key_variable");
  return known.find(works)?.name ?? null;
}

function isNamed(agent: KnownAgent, name: string): boolean {
  return agent.name === name || agent.aliases.includes(name);
}

/** Configured agents, then those found on this machine. */
export function agentTable({ agents, availableAgents }: ListAgentsOutput): string {
  const rows = [
    ...agents.map((agent) => ({ agent, state: agent.isDefault ? "default" : "configured" })),
    ...availableAgents.map((agent) => ({ agent, state: "found" })),
  ];
  if (rows.length === 0) return "No agents. See `postern coding setup --help`.";
  return table(
    ["AGENT", "STATE", "LOGIN", "VERSION", "BINARY"],
    rows.map(({ agent, state }) => [agent.name, state, agent.login, agent.version ?? "-", agent.binary ?? "missing"]),
  );
}
