import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { MachineState, StoppedGateway } from "../cli/ports.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { isErrno, isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { memoryOf } from "../platform/process-memory.ts";
import { processTable } from "../platform/process-table.ts";
import { descendantsOf, isAlive, sendSignal, startTimeOf } from "../platform/processes.ts";
import type { ServiceManager } from "../service/index.ts";
import { probeTerminalHost } from "../terminal-host/client.ts";
import { hostSocketPath } from "./begin-start.ts";
import type { Config } from "./config.ts";
import { packageVersion } from "./version.ts";

const recordSchema = z.object({
  pid: z.int(),
  /** From `startTimeOf`, because a later process can have the same pid. */
  startTime: z.string(),
  version: z.string(),
  startedAt: z.string(),
  baseUrl: z.string(),
  addresses: z.array(z.string()),
  auth: z.enum(["on", "none"]),
});

type GatewayRecord = z.output<typeof recordSchema>;

/** The gateway's record of its own process, for `postern status`, `stop` and `doctor`, even if it does not respond. */
function recordPath({ runDir }: Pick<Config, "runDir">): string {
  return join(runDir, "gateway.json");
}

/** Writes the record of this process. Only for the holder of the state folder's lock. */
export async function recordGateway(
  config: Pick<Config, "runDir" | "auth">,
  { baseUrl, addresses }: { readonly baseUrl: string; readonly addresses: readonly string[] },
): Promise<void> {
  const startedAt = new Date(Date.now() - process.uptime() * 1000).toISOString();
  const record = { pid: process.pid, startTime: startTimeOf(process.pid), version: packageVersion, startedAt };
  await writeFileAtomic(
    recordPath(config),
    `${JSON.stringify({ ...record, baseUrl, addresses, auth: config.auth })}\n`,
  );
}

export async function removeGatewayRecord(config: Pick<Config, "runDir">): Promise<void> {
  await rm(recordPath(config), { force: true });
}

/** The running gateway of this state folder; null when none runs, or when its version writes no record. */
export async function findGateway(config: Pick<Config, "runDir">): Promise<GatewayRecord | null> {
  const text = await readFile(recordPath(config), "utf8").catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return "null";
    throw error;
  });
  const record = recordSchema.safeParse(jsonOf(text)).data;
  return record !== undefined && isAlive(record.pid, record.startTime) ? record : null;
}

/** Null for a damaged file. */
function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null; // a full disk truncated it
  }
}

/** The state folder's processes and their memory, without asking the gateway. Starts nothing. */
export async function lookAtMachine(config: Config): Promise<MachineState> {
  const [gateway, host] = await Promise.all([findGateway(config), lookAtHost(config)]);
  const table = processTable();
  const hostPids = host !== null && "pid" in host ? [host.pid] : [];
  const agentPids = hostPids.flatMap((pid) => descendantsOf(pid, table)).map(({ pid }) => pid);
  const apart = new Set([...hostPids, ...agentPids]);
  const gatewayPids = gateway === null ? [] : [gateway.pid, ...descendantsOf(gateway.pid, table).map(({ pid }) => pid)];
  const memory = {
    gatewayBytes: await memoryOf(gatewayPids.filter((pid) => !apart.has(pid))),
    hostBytes: await memoryOf(hostPids),
    agentsBytes: await memoryOf(agentPids),
  };
  const database = config.databaseUrl === null ? join(config.home, "postern.db") : "PostgreSQL";
  return { home: config.home, database, gateway: gateway && shownOf(gateway), terminalHost: host, memory };
}

function shownOf({ startTime: _startTime, auth: _auth, ...shown }: GatewayRecord): MachineState["gateway"] {
  return shown;
}

async function lookAtHost(config: Config): Promise<MachineState["terminalHost"]> {
  try {
    const host = await probeTerminalHost(hostSocketPath(config), systemClock);
    return host && { pid: host.pid, version: host.version, liveTerminals: host.status.liveTerminals };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** Longer than `postern serve` waits for its requests before it ends. */
const stopMs = 20_000;
const pollMs = 50;

/**
 * Stops the running gateway: by its service manager if that started it, otherwise by SIGTERM. Returns when the process has ended.
 * @throws PosternError `gateway_not_running`, or `internal_error` when it still runs after 20 seconds
 */
export async function stopGateway(
  config: Pick<Config, "runDir">,
  {
    service,
    clock = systemClock,
  }: { readonly service: Pick<ServiceManager, "status" | "stop"> | null; readonly clock?: Clock },
): Promise<StoppedGateway> {
  const gateway = await findGateway(config);
  if (gateway === null) throw new PosternError("gateway_not_running", "No gateway is running.");
  const { pid, startTime } = gateway;
  const command = service !== null && (await runsAs(pid, service)) ? await service.stop() : null;
  // It may have ended while the manager was asked, and another process may have its pid now.
  if (command === null && isAlive(pid, startTime)) sendSignal(pid, "SIGTERM");
  const deadline = clock.now() + stopMs;
  while (isAlive(pid, startTime)) {
    if (clock.now() > deadline) {
      throw new PosternError(
        "internal_error",
        `The gateway (pid ${pid}) did not stop within ${stopMs / 1000} s. End it with \`kill -KILL ${pid}\`; agents keep running.`,
      );
    }
    await clock.sleep(pollMs);
  }
  return { pid, service: command };
}

/** Whether the service manager started this process. False without a manager. */
async function runsAs(pid: number, service: Pick<ServiceManager, "status">): Promise<boolean> {
  try {
    const status = await service.status();
    return status.running && status.pid === pid;
  } catch (error) {
    if (isPosternError(error)) return false; // no manager for this user: it was started otherwise
    throw error;
  }
}
