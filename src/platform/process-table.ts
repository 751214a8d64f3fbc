import { execFile, execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { uptime } from "node:os";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { isErrno } from "../core/errors.ts";

/** One row of the kernel's process table. */
export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** The session's leader; 0 where it is unknown. */
  readonly sessionId: number;
  /** A dead process that was not reaped yet. */
  readonly zombie: boolean;
  /** Whether its main thread runs, or waits for a processor or the disk. */
  readonly running: boolean;
  /** Opaque; differs between two processes with the same pid, also across a reboot. */
  readonly startTime: string;
}

const PS_TIMEOUT_MS = 5_000;
const PS_MAX_BYTES = 16 * 1024 * 1024;

export function processRow(pid: number): ProcessRow | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (process.platform === "linux") return linuxRow(pid);
  return psRows(["-p", String(pid)])[0];
}

/** All processes; those that end in the meantime may be missing. */
export function processTable(): readonly ProcessRow[] {
  if (process.platform !== "linux") return psRows(["-ax"]);
  return linuxPids().flatMap((pid) => linuxRow(pid) ?? []);
}

/**
 * Reads the process table like {@link processTable}, repeatedly and without blocking this process.
 * @param isIrrelevant such processes are left out, and on Linux read once: pids are assigned in turn, so one that still exists at the next
 *   reading, within seconds, is the same process
 */
export function createProcessTableReader(
  isIrrelevant: (row: ProcessRow) => boolean,
): () => Promise<readonly ProcessRow[]> {
  let irrelevant: ReadonlySet<number> = new Set();
  return async () => {
    if (process.platform !== "linux") {
      const { stdout } = await promisify(execFile)("/bin/ps", psArguments(["-ax"]), psOptions);
      return parsePs(stdout);
    }
    const rows: ProcessRow[] = [];
    const leftOut = new Set<number>();
    await inSlices(linuxPids(), (pid) => {
      const row = irrelevant.has(pid) ? null : linuxRow(pid);
      if (row === null || (row !== undefined && isIrrelevant(row))) leftOut.add(pid);
      else if (row !== undefined) rows.push(row);
    });
    irrelevant = leftOut;
    return rows;
  };
}

/** A keystroke in a terminal of this process waits for at most two slices: before it is read, and before its echo. */
const SLICE_MS = 0.3;

/** Visits all items; after each slice the event loop continues. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  let endsAt = performance.now() + SLICE_MS;
  for (const item of items) {
    visit(item);
    if (performance.now() < endsAt) continue;
    await setImmediate();
    endsAt = performance.now() + SLICE_MS;
  }
}

/** Ascending, so that a child that is forked in the meantime comes after its parent. */
function linuxPids(): readonly number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** Whether `pid` was started with `name=value` in its environment. False for other users' processes, and on systems other than Linux. */
export function startedWithVariable(pid: number, name: string, value: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes(`\0${name}=${value}\0`);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return false;
    throw error;
  }
}

let bootId: string | undefined;

function linuxBootId(): string {
  try {
    bootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8);
  } catch {
    bootId = "0"; // hidden by a sandbox; start times still differ within one boot
  }
  return bootId;
}

/** Whether a process certainly began before the other, by the start times of their rows. False if unknown: other boots, other systems. */
export function startedBefore(startTime: string, other: string): boolean {
  const [boot, ticks] = startTime.split(".");
  const [otherBoot, otherTicks] = other.split(".");
  return process.platform === "linux" && boot === otherBoot && Number(ticks) < Number(otherTicks);
}

const tickMs = 10;

/** When a process of this boot started, epoch milliseconds, with the system's precision: 10 ms on Linux, a second elsewhere. */
export function startedAt({ startTime }: Pick<ProcessRow, "startTime">, now: number): number {
  if (process.platform !== "linux") return Date.parse(startTime);
  return now - uptime() * 1_000 + Number(startTime.split(".")[1]) * tickMs;
}

const statBuffer = Buffer.allocUnsafeSlow(4096);

/** One read returns the whole file. `readFileSync` takes twice as long (measured). */
function readStat(pid: number): string {
  const fd = openSync(`/proc/${pid}/stat`, "r");
  try {
    return statBuffer.toString("latin1", 0, readSync(fd, statBuffer));
  } finally {
    closeSync(fd);
  }
}

/** @see proc_pid_stat(5): the name in parentheses can contain anything, so fields follow the last parenthesis. */
function linuxRow(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readStat(pid);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parentPid: Number(fields[1]),
    groupId: Number(fields[2]),
    sessionId: Number(fields[3]),
    zombie: fields[0] === "Z" || fields[0] === "X",
    running: fields[0] === "R" || fields[0] === "D",
    startTime: `${linuxBootId()}.${fields[19] ?? ""}`,
  };
}

/** Whether any thread runs, or waits for a processor or a disk; without a list of threads, the process. */
export function hasRunningThread(pid: number): boolean {
  let threads: readonly string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return processRow(pid)?.running === true;
  }
  return threads.some((thread) => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1");
      return /^[RD]/.test(stat.slice(stat.lastIndexOf(")") + 2));
    } catch {
      return false; // it has ended
    }
  });
}

const psOptions = {
  encoding: "utf8",
  timeout: PS_TIMEOUT_MS,
  maxBuffer: PS_MAX_BYTES,
  env: { LC_ALL: "C" },
} as const;

function psArguments(selection: readonly string[]): readonly string[] {
  return [...selection, "-o", "pid=,ppid=,pgid=,stat=,lstart="];
}

function psRows(selection: readonly string[]): readonly ProcessRow[] {
  try {
    return parsePs(
      execFileSync("/bin/ps", psArguments(selection), { ...psOptions, stdio: ["ignore", "pipe", "ignore"] }),
    );
  } catch (error) {
    if (error instanceof Error && "status" in error && error.status === 1) return []; // nothing matched
    throw error;
  }
}

function parsePs(text: string): readonly ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    if (match === null) continue;
    const [, pid, parentPid, groupId, state, startTime] = match;
    rows.push({
      pid: Number(pid),
      parentPid: Number(parentPid),
      groupId: Number(groupId),
      sessionId: 0,
      zombie: state?.startsWith("Z") ?? false,
      running: /^[RDU]/.test(state ?? ""),
      startTime: startTime ?? "",
    });
  }
  return rows;
}
