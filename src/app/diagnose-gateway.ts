import { request } from "node:http";
import { connect } from "node:net";
import { z } from "zod";
import { isErrno, isPosternError } from "../core/errors.ts";
import type { GatewayCommands, GatewayState } from "../doctor/index.ts";
import { portOwner } from "../platform/port-owner.ts";
import { type ListAgentsOutput, listAgentsOutputSchema } from "../wire/coding.ts";
import type { Config } from "./config.ts";
import { gatewaySocketPath } from "./environment.ts";
import { findGateway } from "./gateway-process.ts";
import { createService } from "./service.ts";
import { packageVersion } from "./version.ts";

const answerTimeoutMs = 3_000;
const connectTimeoutMs = 1_000;
/** The gateway asks each agent for its version and its login, which can take 10 s each. */
const agentsTimeoutMs = 25_000;
/** How many ports to try when looking for a free one. */
const portsToTry = 20;

/** The running gateway, according to its socket, its record and its addresses. */
export interface GatewayLook {
  readonly state: GatewayState;
  /** This command's configuration, with the parts in which the running gateway's configuration differs. */
  readonly config: Config;
  readonly commands: GatewayCommands;
}

const placeSchema = z.looseObject({ gateway: z.looseObject({ version: z.string(), baseUrl: z.string() }) });
const healthSchema = z.looseObject({ status: z.literal("ok") });

export async function lookAtGateway(config: Config, path: string): Promise<GatewayLook> {
  const [answer, record] = await Promise.all([
    ask({ socketPath: gatewaySocketPath(config), path: "/api/me" }),
    findGateway(config),
  ]);
  const place = placeSchema.safeParse(answer === "silent" || answer === null ? null : answer).data;
  const socket = answer === null ? "free" : place === undefined ? "silent" : { version: place.gateway.version };
  const isRunning = answer !== null;
  const bound = record === null || !isRunning ? configuredAddresses(config) : record.addresses.map(addressOf);
  const [addresses, commands] = await Promise.all([
    Promise.all(bound.map((one) => lookAtAddress(one, path))),
    commandsFor(config, isRunning ? (record?.pid ?? null) : null),
  ]);
  const others = addresses.some(({ state }) => state !== "free") && !isRunning;
  const freePort = others ? await freePortAfter(config) : null;
  const hosts = bound.map(({ address }) => address);
  return {
    state: {
      socket,
      pid: isRunning ? (record?.pid ?? null) : null,
      addresses,
      freePort,
      version: packageVersion,
      commands,
    },
    config:
      record === null || !isRunning
        ? config
        : {
            ...config,
            hosts,
            insecureHttp: true,
            auth: record.auth,
            baseUrl: place?.gateway.baseUrl ?? config.baseUrl,
          },
    commands,
  };
}

/** The agents as the running gateway sees them, whose environment can have other keys than this shell. Null if it does not respond. */
export async function askForAgents(config: Config): Promise<ListAgentsOutput | null> {
  const answer = await ask({
    socketPath: gatewaySocketPath(config),
    path: "/api/coding/coding_list_agents",
    body: "{}",
    timeoutMs: agentsTimeoutMs,
  });
  return listAgentsOutputSchema.safeParse(answer).data ?? null;
}

interface Address {
  readonly address: string;
  readonly port: number;
}

function configuredAddresses({ hosts, port }: Config): readonly Address[] {
  return port === 0 ? [] : hosts.map((address) => ({ address, port }));
}

function addressOf(url: string): Address {
  const { hostname, port } = new URL(url);
  return { address: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) };
}

async function lookAtAddress({ address, port }: Address, path: string): Promise<GatewayState["addresses"][number]> {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  const isOpen = await answers(host, port);
  const health = isOpen ? await ask({ host, port, path: "/healthz" }) : null;
  const isGateway = healthSchema.safeParse(health).success;
  const owner = isOpen && !isGateway ? await portOwner(port, path) : null;
  return { address, port, state: isGateway ? "gateway" : isOpen ? "other" : "free", owner };
}

/** The next port on which nothing listens. */
async function freePortAfter({ hosts, port }: Config): Promise<number> {
  for (let next = port + 1; next <= port + portsToTry && next <= 65_535; next += 1) {
    const open = await Promise.all(hosts.map((host) => answers(host, next)));
    if (!open.includes(true)) return next;
  }
  return 0; // any
}

/** Commands for the gateway of this process; `pid` is null when none runs, or its process is unknown. */
async function commandsFor(config: Config, pid: number | null): Promise<GatewayCommands> {
  const manually = {
    restart: "postern stop && postern serve",
    upgrade: "postern stop && postern serve",
    keepKeys: null,
  };
  if (pid === null) return manually;
  try {
    const service = await createService("postern", config).status();
    if (!service.running || service.pid !== pid) return manually;
    const restart =
      service.manager === "systemd"
        ? "systemctl --user restart postern.service"
        : "launchctl kickstart -k gui/$(id -u)/dev.postern.gateway";
    return { restart, upgrade: "postern service install", keepKeys: `postern service install --keys && ${restart}` };
  } catch (error) {
    if (isPosternError(error)) return manually; // no service manager for this user
    throw error;
  }
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

type Question = GatewayAddress & { readonly path: string; readonly body?: string; readonly timeoutMs?: number };

/** The JSON response of an address, to a POST if there is a body; `silent` for anything else, null when nothing listens. */
function ask({ path, body, timeoutMs: timeout = answerTimeoutMs, ...address }: Question): Promise<unknown> {
  const method = body === undefined ? "GET" : "POST";
  const content = body === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve) => {
    const silent = (): void => resolve("silent");
    const outgoing = request(
      { ...address, path, method, headers: { host: nameOf(address), ...content }, timeout, agent: false },
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
    outgoing.end(body);
  });
}
