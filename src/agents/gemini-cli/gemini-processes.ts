import { basename, join } from "node:path";
import { z } from "zod";
import { isUuid } from "../../core/ids.ts";
import type { ProcessRow } from "../../platform/process-table.ts";
import { readSmallFileSync } from "../../platform/regular-file.ts";
import { agentProcesses, argumentsOf, idIn, optionsOf, readProc, variablesOf } from "../agent-processes.ts";
import type { ExternalHolder } from "../template.ts";
import { type LoggedProcess, movedTo, sessionsBegun, typedSince } from "./gemini-log.ts";
import { geminiDir } from "./gemini-settings.ts";

/** A live Gemini CLI, from /proc. */
interface GeminiProcess {
  readonly pid: number;
  readonly parentPid: number;
  /** The id in its arguments, or null. */
  readonly namedId: string | null;
  readonly cwd: string;
  /** Epoch milliseconds, accurate to a second. */
  readonly startedAt: number;
}

/** The longest time between the start of a process and the start of its session, on a loaded machine. */
const beginsWithinMs = 30_000;
const startToleranceMs = 2_000;

const script = /(?:^|\/)gemini$|\/@google\/gemini-cli\/.+\.js$/;

/** The id in a program's arguments: undefined for another program, null if it has none (such as `latest`). */
export function geminiArguments(argv: readonly string[]): string | null | undefined {
  const options = optionsOf(argv, script);
  return options === null ? undefined : namedIn(options);
}

function namedIn(options: readonly string[]): string | null {
  return idIn(options, /^(?:--session-id|--resume|-r)(?:=(.*))?$/s, isUuid)?.toLowerCase() ?? null;
}

/**
 * The sessions of live processes with this state folder. Linux only: no file of the agent records them, so they come from /proc. A session
 * is identified by the id in the process's arguments, or as the only session in its directory that started with the process or received prompts
 * since then; later switches are found in the log.
 */
export async function geminiSessions(home: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const folders = projectFolders(home);
  const found = new Map<string, ExternalHolder>();
  if (folders.size === 0 || process.platform !== "linux") return found;
  const processes = await geminiProcesses(home);
  const named = processes.map(({ namedId }) => namedId);
  for (const one of processes) {
    const folder = folders.get(one.cwd);
    if (folder === undefined) continue;
    const firstId = one.namedId ?? begunWith(one, { folder, named });
    if (firstId === null) continue;
    const moved = isShared(firstId, named) ? null : movedTo(folder, { ...one, firstId }, Date.now());
    found.set(moved === null || moved === "soon" ? firstId : moved.sessionId, { pid: one.pid, activity: null });
  }
  return found;
}

/** Whether several processes started with this id, so that their prompts are logged under the same id. */
function isShared(id: string, named: readonly (string | null)[]): boolean {
  return named.indexOf(id) !== named.lastIndexOf(id);
}

/**
 * How a process is identified in the log. Null if its arguments have no id, or another process has the same id, and except on Linux. Its own
 * children do not count: between fork and exec, a child has the arguments of its parent.
 */
export async function loggedProcess(pid: number): Promise<LoggedProcess | null> {
  const firstId = geminiArguments(argumentsOf(pid, "gemini")) ?? null;
  if (firstId === null) return null;
  const all = await allProcesses(homeOf(pid));
  const same = all.filter(({ namedId, parentPid }) => namedId === firstId && parentPid !== pid);
  const [only] = same;
  return same.length === 1 && only?.pid === pid ? { firstId, startedAt: only.startedAt } : null;
}

/** Epoch milliseconds. The kernel counts hundredths of a second since boot. */
function startedAt({ startTime }: ProcessRow, boot: number): number {
  return boot + Number(startTime.split(".")[1] ?? 0) * 10;
}

function bootedAt(): number {
  return Number(/^btime (\d+)$/m.exec(readProc("/proc/stat"))?.[1] ?? 0) * 1_000;
}

function begunWith(
  one: GeminiProcess,
  { folder, named }: { readonly folder: string; readonly named: readonly (string | null)[] },
): string | null {
  const from = one.startedAt - startToleranceMs;
  const begun = sessionsBegun(folder, { from, to: one.startedAt + beginsWithinMs });
  const [only, ...others] = [...new Set([...begun, ...typedSince(folder, from)])].filter((id) => !named.includes(id));
  return others.length === 0 ? (only ?? null) : null;
}

/** The running processes. If one restarted itself with the same arguments, only the child counts. */
async function geminiProcesses(home: string): Promise<readonly GeminiProcess[]> {
  const all = await allProcesses(home);
  return all.filter((one) => !all.some(({ parentPid, namedId }) => parentPid === one.pid && namedId === one.namedId));
}

async function allProcesses(home: string): Promise<readonly GeminiProcess[]> {
  const boot = bootedAt();
  return (await agentProcesses("gemini", script)).flatMap(({ row, options, cwd }) => {
    const { pid, parentPid } = row;
    if (homeOf(pid) !== home) return [];
    return [{ pid, parentPid, namedId: namedIn(options), cwd, startedAt: startedAt(row, boot) }];
  });
}

/** The state folder of a process. */
function homeOf(pid: number): string {
  return geminiDir(variablesOf(pid, ["HOME", "GEMINI_CLI_HOME"]));
}

const projectsSchema = z.looseObject({ projects: z.record(z.string(), z.string()) });

/** The file has a line or two for each directory in which the agent ever ran. */
const maxProjectsBytes = 4 * 1024 * 1024;

/** The agent's folder for each project directory. */
function projectFolders(home: string): ReadonlyMap<string, string> {
  try {
    const bytes = readSmallFileSync(join(home, "projects.json"), maxProjectsBytes);
    if (!Buffer.isBuffer(bytes)) return new Map();
    const parsed = projectsSchema.safeParse(JSON.parse(bytes.toString("utf8"))).data;
    const folders = Object.entries(parsed?.projects ?? {}).filter(([, name]) => name === basename(name));
    return new Map(folders.map(([dir, name]) => [dir, join(home, "tmp", name)]));
  } catch {
    return new Map(); // incompletely written: the next read succeeds
  }
}
