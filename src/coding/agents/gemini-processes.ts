import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { isUuid } from "../../core/ids.ts";
import { type ProcessRow, processRow } from "../../platform/process-table.ts";
import { type LoggedProcess, movedTo, sessionsBegun, typedSince } from "./gemini-log.ts";
import { geminiDir } from "./gemini-settings.ts";
import type { Environment, ExternalHolder } from "./template.ts";

/** A live Gemini CLI, by what the kernel tells. */
interface GeminiProcess {
  readonly pid: number;
  readonly parentPid: number;
  /** The id that its arguments name; null when they name none. */
  readonly namedId: string | null;
  readonly cwd: string;
  /** Epoch milliseconds, to about a second. */
  readonly startedAt: number;
}

// More processes than run on a machine that one person works on; each costs a look at its arguments.
const maxProcesses = 10_000;
/** The interpreter, its own options and the script come first. */
const maxLeadingArguments = 12;
/** Between a process's start and its session's, on a loaded machine; the start itself is known to a second. */
const beginsWithinMs = 30_000;
const startToleranceMs = 2_000;

// Enough for every option; a prompt may be of any length.
const argumentBuffer = Buffer.allocUnsafe(16 * 1024);

const script = /(?:^|\/)gemini$|\/@google\/gemini-cli\/.+\.js$/;

/**
 * The id that the arguments of a program name, if it is a Gemini CLI: undefined for another program, null when they name none. Values
 * such as `latest` name none. Pure.
 */
export function geminiArguments(argv: readonly string[]): string | null | undefined {
  const at = argv.slice(0, maxLeadingArguments).findIndex((argument) => script.test(argument));
  const [program = "", ...interpreterOptions] = argv.slice(0, Math.max(0, at));
  if (at === -1 || interpreterOptions.some((option) => !option.startsWith("-"))) return undefined;
  if (at > 0 && !/^(?:node|bun)/.test(basename(program))) return undefined;
  const options = argv.slice(at + 1);
  for (const [index, option] of options.entries()) {
    if (option === "--") break;
    const [, value = options[index + 1] ?? ""] = /^(?:--session-id|--resume|-r)(?:=(.*))?$/s.exec(option) ?? [null, ""];
    if (isUuid(value)) return value.toLowerCase();
  }
  return null;
}

/**
 * The sessions that live processes run whose state folder is this one. Linux only: no file of the agent tells who runs a session, so it is
 * asked of the kernel which processes there are. A session is known by the id in its process's arguments; without one, as the only one of
 * that directory that began with the process, or in which something was typed since; and from then on by what is typed.
 */
export async function geminiSessions(home: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const folders = projectFolders(home);
  const found = new Map<string, ExternalHolder>();
  if (folders.size === 0 || process.platform !== "linux") return found;
  const processes = geminiProcesses(home);
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

/** What is typed into processes that began with the same id stands in the log under the same id. */
function isShared(id: string, named: readonly (string | null)[]): boolean {
  return named.indexOf(id) !== named.lastIndexOf(id);
}

/**
 * What the log can know a process by; null for one whose arguments name no session, or the same as those of another, and where the system
 * does not tell.
 */
export function loggedProcess(pid: number): LoggedProcess | null {
  const firstId = geminiArguments(argumentsOf(pid)) ?? null;
  if (firstId === null) return null;
  const same = geminiProcesses(geminiDir(environmentOf(pid))).filter(({ namedId }) => namedId === firstId);
  const [only] = same;
  return same.length === 1 && only?.pid === pid ? { firstId, startedAt: only.startedAt } : null;
}

/** Epoch milliseconds. The kernel counts in hundredths of a second since boot. */
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

/** Of one that started itself once more with the same arguments, the second. */
function geminiProcesses(home: string): readonly GeminiProcess[] {
  const all = allProcesses(home);
  return all.filter((one) => !all.some(({ parentPid, namedId }) => parentPid === one.pid && namedId === one.namedId));
}

function allProcesses(home: string): readonly GeminiProcess[] {
  const boot = bootedAt();
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .slice(0, maxProcesses)
    .flatMap((name) => {
      const pid = Number(name);
      const namedId = geminiArguments(argumentsOf(pid));
      if (namedId === undefined) return [];
      const row = processRow(pid);
      const cwd = linkOf(`/proc/${pid}/cwd`);
      if (row === undefined || row.zombie || cwd === null || geminiDir(environmentOf(pid)) !== home) return [];
      return [{ pid, parentPid: row.parentPid, namedId, cwd, startedAt: startedAt(row, boot) }];
    });
}

/** The first arguments of a process that may be one; of any other none. */
function argumentsOf(pid: number): readonly string[] {
  let file: number;
  try {
    file = openSync(`/proc/${pid}/cmdline`, "r");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return [];
    throw error;
  }
  try {
    const bytes = readSync(file, argumentBuffer, 0, argumentBuffer.length, 0);
    if (!argumentBuffer.subarray(0, bytes).includes("gemini")) return [];
    return argumentBuffer.toString("utf8", 0, bytes).split("\0").slice(0, -1);
  } catch (error) {
    if (isErrno(error, "ESRCH")) return []; // gone
    throw error;
  } finally {
    closeSync(file);
  }
}

function environmentOf(pid: number): Environment {
  const pairs = readProc(`/proc/${pid}/environ`).split("\0");
  const names = new Set(["HOME", "GEMINI_CLI_HOME"]);
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const [name = ""] = pair.split("=", 1);
      return names.has(name) ? [[name, pair.slice(name.length + 1)]] : [];
    }),
  );
}

const projectsSchema = z.looseObject({ projects: z.record(z.string(), z.string()) });

/** Where the agent keeps what belongs to a directory, by the directory. */
function projectFolders(home: string): ReadonlyMap<string, string> {
  try {
    const told = projectsSchema.safeParse(JSON.parse(readFileSync(join(home, "projects.json"), "utf8"))).data;
    const folders = Object.entries(told?.projects ?? {}).filter(([, name]) => name === basename(name));
    return new Map(folders.map(([dir, name]) => [dir, join(home, "tmp", name)]));
  } catch {
    return new Map(); // not there, or in the middle of a write: the next look tells
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // gone, or another user's
  }
}

function readProc(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return "";
    throw error;
  }
}
