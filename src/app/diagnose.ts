import { stat } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { type AgentRegistry, createRegistry, createTemplates, versionNotice } from "../agents/index.ts";
import { systemClock } from "../core/clock.ts";
import { isErrno, messageOf } from "../core/errors.ts";
import {
  type AgentFixes,
  checkAgents,
  checkClock,
  checkDisk,
  checkExposure,
  checkFolders,
  checkGateway,
  checkGit,
  checkNode,
  checkSandbox,
  checkSmoke,
  checkStore,
  checkTerminalHost,
  checkVersion,
  failure,
  type GatewayState,
  shellWord,
} from "../doctor/index.ts";
import { portOwner } from "../platform/port-owner.ts";
import { inspectStore } from "../storage/inspect.ts";
import { probeTerminalHost } from "../terminal-host/client.ts";
import type { Finding } from "../wire/doctor.ts";
import { browserAddress, type Config, exposureOf, gatewaySocketPath, loadUsableConfig } from "./config.ts";
import { smokeStart } from "./smoke-start.ts";
import { packageVersion } from "./version.ts";

/** A slower check is a failure. Commands of agents have 10 s each. */
const checkTimeoutMs = 30_000;
const answerTimeoutMs = 3_000;
const connectTimeoutMs = 1_000;

/** {@link diagnose} with the configuration of this process; an invalid one is a finding too. */
export async function diagnoseHere(
  options: { readonly smoke: boolean },
  env?: Config["env"],
): Promise<readonly Finding[]> {
  const { config, problem } = loadUsableConfig(env);
  const findings = await diagnose(config, options);
  if (problem === null) return findings;
  return [
    failure("configuration", problem, `\${EDITOR:-vi} ${shellWord(join(config.home, "config.json"))}`),
    ...findings,
  ];
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
      attempt("state folder", () => checkFolders(config)),
      attempt("disk", () => checkDisk(config.home)),
      attempt("store", async () => checkStore(store, { isFile: config.databaseUrl === null })),
      attempt("clock", async () => checkClock(systemClock.now(), [store.newestAt, await writtenAt(file)])),
      attempt("exposure", async () => checkExposure(exposureFacts(config))),
      attempt("gateway", async () => checkGateway(await gateway)),
      attempt("terminal host", async () => lookAtHost(config, (await gateway).socket !== "free")),
      attempt("agents", () => lookAtAgents(agents, { smoke })),
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
  { smoke }: { readonly smoke: boolean },
): Promise<readonly Finding[]> {
  const list = await agents.list();
  const fixesOf = (name: string): AgentFixes => {
    const { releases, loginArgs, binaryName } = agents.template(name);
    const binary = list.agents.find((agent) => agent.name === name)?.binary ?? binaryName;
    return {
      install: releases === null ? null : `npm install --global ${releases.npmPackage}`,
      logIn: loginArgs.length === 0 ? null : [binary, ...loginArgs].map(shellWord).join(" "),
    };
  };
  const sandboxes = list.agents.map(async ({ name, binary }): Promise<readonly Finding[]> => {
    const template = agents.template(name);
    if (binary === null || template.checkSandbox === undefined) return [];
    return [checkSandbox(name, await template.checkSandbox(binary, agents.environmentOf(template)))];
  });
  const inSandboxes = (await Promise.all(sandboxes)).flat();
  const starts: Finding[] = [];
  if (smoke) {
    for (const { name, binary } of list.agents) {
      if (binary !== null) starts.push(checkSmoke(name, await smokeStart(agents, name), fixesOf(name)));
    }
  }
  const inVersions = list.agents.flatMap(({ name, version }) =>
    checkVersion(name, versionNotice(agents.template(name), version)),
  );
  return [...checkAgents(list, fixesOf), ...inVersions, ...inSandboxes, ...starts];
}

function exposureFacts(config: Config): Parameters<typeof checkExposure>[0] {
  return {
    ...exposureOf(config),
    insecureHttp: config.insecureHttp,
    authOn: config.auth === "on",
    address: browserAddress(config),
    trustedProxies: config.trustedProxies.length,
  };
}

async function lookAtHost(config: Config, gatewayRuns: boolean): Promise<readonly Finding[]> {
  const socketPath = join(config.runDir, "host.sock");
  const facts = { version: packageVersion, gatewayRuns, socketPath };
  try {
    const host = await probeTerminalHost(socketPath, systemClock);
    return checkTerminalHost(host === null ? null : { ...host, liveTerminals: host.status.liveTerminals }, facts);
  } catch (error) {
    return checkTerminalHost({ refusal: messageOf(error) }, facts);
  }
}

/** The last change of the database file; null without one. */
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

const placeSchema = z.looseObject({ gateway: z.looseObject({ version: z.string() }) });

async function lookAtGateway(config: Config, path: string): Promise<GatewayState> {
  const answer = await ask({ socketPath: gatewaySocketPath(config), path: "/api/me" });
  const place = placeSchema.safeParse(answer === "silent" || answer === null ? null : answer);
  const socket = answer === null ? "free" : place.success ? { version: place.data.gateway.version } : "silent";
  const wanted = config.port === 0 ? [] : config.hosts;
  const addresses = await Promise.all(
    wanted.map(async (address) => {
      const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
      const isOpen = await answers(host, config.port);
      const health = isOpen ? await ask({ host, port: config.port, path: "/healthz" }) : null;
      const isGateway = z.looseObject({ status: z.literal("ok") }).safeParse(health).success;
      const owner = isOpen && !isGateway ? await portOwner(config.port, path) : null;
      const state = isGateway ? ("gateway" as const) : isOpen ? ("other" as const) : ("free" as const);
      return { address, port: config.port, state, owner };
    }),
  );
  return { socket, addresses, version: packageVersion };
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectTimeoutMs });
    const finish = (isOpen: boolean) => (): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", finish(true)).once("timeout", finish(false)).once("error", finish(false));
  });
}

type GatewayAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

/** A host name that the gateway accepts. */
function nameOf(address: GatewayAddress): string {
  if ("socketPath" in address) return "localhost";
  return `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}

const maxAnswerChars = 100_000;

/** The JSON response of an address; `silent` for anything else, null when nothing listens. */
function ask({ path, ...address }: GatewayAddress & { readonly path: string }): Promise<unknown> {
  return new Promise((resolve) => {
    const silent = (): void => resolve("silent");
    const outgoing = request(
      { ...address, path, headers: { host: nameOf(address) }, timeout: answerTimeoutMs, agent: false },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.length > maxAnswerChars) answer.destroy();
        });
        answer.on("error", silent).on("close", silent);
        answer.on("end", () => {
          try {
            resolve(JSON.parse(text));
          } catch {
            silent(); // not a gateway
          }
        });
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("No answer.")));
    outgoing.on("error", (error) =>
      resolve(isErrno(error, "ENOENT", "ENOTDIR", "ECONNREFUSED", "ENOTSOCK") ? null : "silent"),
    );
    outgoing.end();
  });
}
