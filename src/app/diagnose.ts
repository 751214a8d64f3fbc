import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type AgentRegistry, createRegistry, createTemplates, versionNotice } from "../agents/index.ts";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { shellWord } from "../core/shell-word.ts";
import {
  type AgentFixes,
  checkAgents,
  checkClock,
  checkDisk,
  checkExposure,
  checkFolders,
  checkGateway,
  checkGh,
  checkGit,
  checkNode,
  checkSandbox,
  checkSmoke,
  checkStore,
  checkTerminalHost,
  checkVersion,
  failure,
} from "../doctor/index.ts";
import { socketOwner } from "../platform/port-owner.ts";
import { inspectStore } from "../storage/inspect.ts";
import { probeTerminalHost } from "../terminal-host/client.ts";
import type { Finding } from "../wire/doctor.ts";
import { hostSocketPath } from "./begin-start.ts";
import { browserAddress, type Config, exposureOf, loadUsableConfig } from "./config.ts";
import { askForAgents, type GatewayLook, lookAtGateway } from "./diagnose-gateway.ts";
import { smokeStart } from "./smoke-start.ts";
import { packageVersion } from "./version.ts";

/** A slower check is a failure. Commands of agents have 10 s each. */
const checkTimeoutMs = 30_000;

/** {@link diagnose} with the configuration of this process. An invalid configuration is a finding too. */
export async function diagnoseHere(
  options: { readonly smoke: boolean },
  env?: Config["env"],
): Promise<readonly Finding[]> {
  const { config, problem } = loadUsableConfig(env);
  const findings = await diagnose(config, options);
  if (problem === null) return findings;
  const { message, variable } = problem;
  const edit = `\${EDITOR:-vi} ${shellWord(join(config.home, "config.json"))}`;
  return [failure("configuration", message, variable === null ? edit : `unset ${variable}`), ...findings];
}

/**
 * Runs all checks and changes nothing. `smoke` starts each configured agent once, which can write to its own folder.
 */
export async function diagnose(config: Config, { smoke }: { readonly smoke: boolean }): Promise<readonly Finding[]> {
  const path = config.env["PATH"] ?? "";
  const file = join(config.home, "postern.db");
  const store = await inspectStore({ url: config.databaseUrl, path: file });
  try {
    const agents = createRegistry({
      templates: createTemplates(config.agents),
      db: store.db,
      gatewayEnv: () => config.env,
      secrets: config.databaseUrl === null ? [] : [config.databaseUrl],
    });
    const gateway = lookAtGateway(config, path);
    const found = await Promise.all([
      attempt("node", async () => checkNode(process.versions.node)),
      attempt("git", () => checkGit(path)),
      attempt("gh", () => checkGh(path, agents.userEnvironment())),
      attempt("state folder", () => checkFolders(config)),
      attempt("disk", () => checkDisk(config.home)),
      attempt("store", async () => checkStore(store, await storeFacts(config, gateway))),
      attempt("clock", async () => checkClock(systemClock.now(), [store.newestAt, await writtenAt(file)])),
      attempt("exposure", async () => checkExposure(exposureFacts(await gateway))),
      attempt("gateway", async () => checkGateway((await gateway).state)),
      attempt("terminal host", async () => lookAtHost(config, await gateway)),
      attempt("agents", async () => lookAtAgents(agents, { smoke, config, gateway: await gateway })),
    ]);
    return found.flat();
  } finally {
    await store.close();
  }
}

/** A check that throws or is slow is a failure. */
async function attempt(check: string, look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  let cancel = (): void => undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    const timer = setTimeout(
      () => resolve([failure(check, `The check did not finish within ${checkTimeoutMs / 1000} s.`, null)]),
      // Starts have their own timeout.
      check === "agents" ? 10 * checkTimeoutMs : checkTimeoutMs,
    );
    cancel = () => clearTimeout(timer);
  });
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    return [failure(check, `The check failed: ${messageOf(error)}`, null)];
  } finally {
    cancel();
  }
}

async function lookAtAgents(
  agents: AgentRegistry,
  { smoke, config, gateway }: { readonly smoke: boolean; readonly config: Config; readonly gateway: GatewayLook },
): Promise<readonly Finding[]> {
  const asked = typeof gateway.state.socket === "string" ? null : await askForAgents(config);
  const list = asked ?? (await agents.list());
  // The gateway can have custom agents that are not in this configuration.
  const templateOf = (name: string) => agents.templates.find((template) => template.name === name) ?? null;
  const fixesOf = (name: string): AgentFixes => {
    const template = templateOf(name);
    if (template === null) return { install: null, reinstall: null, logIn: null };
    const { releases, loginArgs, binaryName, keyVariables } = template;
    const binary = list.agents.find((agent) => agent.name === name)?.binary ?? binaryName;
    // The gateway lacks a key that this shell has.
    const hasKey = asked !== null && keyVariables.some((variable) => config.env[variable]);
    const { keepKeys, restart } = gateway.commands;
    return {
      install: releases === null ? null : `postern coding setup --agent ${name} --install`,
      reinstall: releases === null ? null : `npm install --global ${releases.npmPackage}`,
      logIn: hasKey
        ? (keepKeys ?? restart)
        : loginArgs.length === 0
          ? null
          : [binary, ...loginArgs].map(shellWord).join(" "),
    };
  };
  const sandboxes = list.agents.map(async ({ name, binary }): Promise<readonly Finding[]> => {
    const template = templateOf(name);
    if (binary === null || template?.checkSandbox === undefined) return [];
    return [checkSandbox(name, await template.checkSandbox(binary, agents.environmentOf(template)))];
  });
  const inSandboxes = (await Promise.all(sandboxes)).flat();
  const starts: Finding[] = [];
  if (smoke) {
    for (const { name, binary } of list.agents) {
      if (binary !== null && templateOf(name) !== null)
        starts.push(checkSmoke(name, await smokeStart(agents, name), fixesOf(name)));
    }
  }
  const inVersions = list.agents.flatMap(({ name, version }) => {
    const template = templateOf(name);
    return template === null ? [] : checkVersion(name, versionNotice(template, version));
  });
  return [...checkAgents(list, fixesOf), ...inVersions, ...inSandboxes, ...starts];
}

async function storeFacts(config: Config, gateway: Promise<GatewayLook>): Promise<Parameters<typeof checkStore>[1]> {
  const { state, commands } = await gateway;
  return {
    isFile: config.databaseUrl === null,
    start: state.socket === "free" ? "postern serve" : commands.upgrade,
    upgrade: upgradeCommand(),
  };
}

/** A checkout has the source; a package has only the built files. */
function upgradeCommand(): string {
  const root = join(import.meta.dirname, "../..");
  if (basename(dirname(import.meta.dirname)) !== "src") return "npm install --global postern@latest";
  return `git -C ${shellWord(root)} pull && npm --prefix ${shellWord(root)} ci`;
}

function exposureFacts({ config, state }: GatewayLook): Parameters<typeof checkExposure>[0] {
  return {
    start: state.socket === "free" ? "postern serve" : "postern stop && postern serve",
    ...exposureOf(config),
    insecureHttp: config.insecureHttp,
    authOn: config.auth === "on",
    address: browserAddress(config),
    trustedProxies: config.trustedProxies.length,
  };
}

async function lookAtHost(config: Config, { state, commands }: GatewayLook): Promise<readonly Finding[]> {
  const socketPath = hostSocketPath(config);
  const facts = { version: packageVersion, restart: state.socket === "free" ? null : commands.restart, socketPath };
  try {
    const host = await probeTerminalHost(socketPath, systemClock);
    return checkTerminalHost(host === null ? null : { ...host, liveTerminals: host.status.liveTerminals }, facts);
  } catch (error) {
    const pid = await socketOwner(socketPath, config.env["PATH"] ?? "");
    return checkTerminalHost({ refusal: messageOf(error), pid }, facts);
  }
}

/** The time of the last change of the database file; null if there is no file. */
async function writtenAt(path: string): Promise<number | null> {
  const times = await Promise.all(
    [path, `${path}-wal`].map((file) =>
      stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      ),
    ), // missing or inaccessible
  );
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(...known);
}
