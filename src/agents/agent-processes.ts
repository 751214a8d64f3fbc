import { closeSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Clock, systemClock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { type ProcessRow, processRow } from "../platform/process-table.ts";
import { isRunning } from "../platform/processes.ts";
import type { Environment, ExternalHolder } from "./template.ts";

/** A live process of an agent, read from /proc. */
interface AgentProcess {
  readonly row: ProcessRow;
  /** The arguments after the program. */
  readonly options: readonly string[];
  readonly cwd: string;
}

// More than run on one person's machine. Checking a process costs a read of its arguments.
const maxProcesses = 10_000;
/** Room for the interpreter, its options and the script, which come before the program's own arguments. */
const maxLeadingArguments = 12;
// Each process takes about 15 µs of blocking reads; yield between slices.
const sliceMs = 2;
// Enough for every option; a prompt can have any length.
const argumentBuffer = Buffer.allocUnsafe(16 * 1024);

/**
 * The live processes of a program that this user can inspect. Empty except on Linux.
 * @param text that occurs in each process's arguments @param program matches the name or path of the program or its script
 */
export async function agentProcesses(text: string, program: RegExp): Promise<readonly AgentProcess[]> {
  if (process.platform !== "linux") return [];
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: AgentProcess[] = [];
  let until = performance.now() + sliceMs;
  for (const pid of pids.slice(0, maxProcesses)) {
    if (performance.now() > until) {
      await setImmediate();
      until = performance.now() + sliceMs;
    }
    const one = agentProcess(pid, text, program);
    if (one !== null) found.push(one);
  }
  return found;
}

function agentProcess(pid: number, text: string, program: RegExp): AgentProcess | null {
  const options = optionsOf(argumentsOf(pid, text), program);
  if (options === null) return null;
  const row = processRow(pid);
  const cwd = linkOf(`/proc/${pid}/cwd`);
  return row === undefined || row.zombie || cwd === null ? null : { row, options, cwd };
}

/** The arguments after the program, which may run in an interpreter; null for another program. */
export function optionsOf(argv: readonly string[], program: RegExp): readonly string[] | null {
  const at = argv.slice(0, maxLeadingArguments).findIndex((argument) => program.test(argument));
  const [interpreter = "", ...interpreterOptions] = argv.slice(0, Math.max(0, at));
  if (at === -1 || interpreterOptions.some((option) => !option.startsWith("-"))) return null;
  if (at > 0 && !/^(?:node|bun)/.test(basename(interpreter))) return null;
  return argv.slice(at + 1);
}

/**
 * The first value among these options that is an id, or null.
 * @param name captures the value of `--name=value` in a group
 */
export function idIn(options: readonly string[], name: RegExp, isId: (value: string) => boolean): string | null {
  for (const [index, option] of options.entries()) {
    if (option === "--") break;
    const found = name.exec(option);
    const value = found === null ? "" : (found[1] ?? options[index + 1] ?? "");
    if (isId(value)) return value;
  }
  return null;
}

/** The first arguments of a process if they contain `text`, else none. */
export function argumentsOf(pid: number, text: string): readonly string[] {
  let file: number;
  try {
    file = openSync(`/proc/${pid}/cmdline`, "r");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return [];
    throw error;
  }
  try {
    const bytes = readSync(file, argumentBuffer, 0, argumentBuffer.length, 0);
    if (!argumentBuffer.subarray(0, bytes).includes(text)) return [];
    return argumentBuffer.toString("utf8", 0, bytes).split("\0").slice(0, -1);
  } catch (error) {
    if (isErrno(error, "ESRCH")) return [];
    throw error;
  } finally {
    closeSync(file);
  }
}

/** The given variables of a process's environment that are set. */
export function variablesOf(pid: number, names: readonly string[]): Environment {
  const pairs = readProc(`/proc/${pid}/environ`).split("\0");
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const [name = ""] = pair.split("=", 1);
      return names.includes(name) ? [[name, pair.slice(name.length + 1)]] : [];
    }),
  );
}

/** The target of a link; null if it is gone or belongs to another user. */
export function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** The text of a file in /proc; empty if it is gone or belongs to another user. */
export function readProc(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return "";
    throw error;
  }
}

/** The sessions of live processes, by the agent's own id. */
export type Holders = ReadonlyMap<string, ExternalHolder>;

// Short enough to count as current, long enough that a page of sessions costs one look-up.
const rememberedMs = 250;
// One entry per state folder of an agent; a gateway has one.
const maxRemembered = 20;

/**
 * Caches the answers of `look` for a quarter of a second, and leaves out holders that have exited since. Concurrent calls share a look-up.
 * Failures are not cached.
 */
export function createHolderMemory(
  look: (key: string) => Promise<Holders>,
  clock: Clock = systemClock,
): (key: string) => Promise<Holders> {
  const answers = new Map<string, { readonly until: number; readonly answer: Promise<Holders> }>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined && known.until > clock.now()) return known.answer.then(stillRunning);
    if (answers.size >= maxRemembered) answers.clear();
    const answer = look(key);
    const entry = { until: clock.now() + rememberedMs, answer };
    answers.set(key, entry);
    answer.catch(() => {
      if (answers.get(key) === entry) answers.delete(key);
    });
    return answer;
  };
}

function stillRunning(holders: Holders): Holders {
  return new Map([...holders].filter(([, { pid }]) => isRunning(pid)));
}
