import { execFile, execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { isErrno } from "../core/errors.ts";

/** One row of the kernel's process table. */
export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** The session's leader; 0 where the system does not tell. */
  readonly sessionId: number;
  /** A dead process that its parent has not reaped yet. */
  readonly zombie: boolean;
  /** Whether its main thread has a processor, or waits for one or for the disk: it computes. */
  readonly running: boolean;
  /** Opaque text that differs between two processes that had the same pid, also across a reboot. */
  readonly startTime: string;
}

const PS_TIMEOUT_MS = 5_000;
const PS_MAX_BYTES = 16 * 1024 * 1024;

/** The row of `pid`, or undefined when there is no such process. */
export function processRow(pid: number): ProcessRow | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (process.platform === "linux") return linuxRow(pid);
  return psRows(["-p", String(pid)])[0];
}

/** All processes; those that end while the table is read may be missing. */
export function processTable(): readonly ProcessRow[] {
  if (process.platform !== "linux") return psRows(["-ax"]);
  return linuxPids().flatMap((pid) => linuxRow(pid) ?? []);
}

/**
 * Reads the process table any number of times, as {@link processTable} but without holding up the rest of this process.
 *
 * @param isIrrelevant such processes are left out, and on Linux read once: numbers are given out in turn, so one that is still there at
 *   the next reading, within seconds, is the same process
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

/** A key that is typed into a terminal of this process waits for two slices at most: before it is read, and before its echo is. */
const SLICE_MS = 0.3;

/** Visits all items; after each slice, whatever else this process has to do goes first. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  let endsAt = performance.now() + SLICE_MS;
  for (const item of items) {
    visit(item);
    if (performance.now() < endsAt) continue;
    await setImmediate();
    endsAt = performance.now() + SLICE_MS;
  }
}

/** Ascending, so that a child that is forked during a reading comes after its parent. */
function linuxPids(): readonly number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/**
 * Whether the environment that `pid` was started with holds `name=value`. False for processes of other users, and everywhere but
 * on Linux, where the system does not tell.
 */
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
    bootId = "0"; // hidden by a sandbox: the start time alone still tells processes of one boot apart
  }
  return bootId;
}

/**
 * Whether a process certainly began before the other, by the start times of their rows. False where that is not known, as for start times
 * of two boots, and everywhere but on Linux.
 */
export function startedBefore(startTime: string, other: string): boolean {
  const [boot, ticks] = startTime.split(".");
  const [otherBoot, otherTicks] = other.split(".");
  return process.platform === "linux" && boot === otherBoot && Number(ticks) < Number(otherTicks);
}

const statBuffer = Buffer.allocUnsafeSlow(4096);

/** The kernel gives all of it at once; `readFileSync` measured twice as long. */
function readStat(pid: number): string {
  const fd = openSync(`/proc/${pid}/stat`, "r");
  try {
    return statBuffer.toString("latin1", 0, readSync(fd, statBuffer));
  } finally {
    closeSync(fd);
  }
}

/** @see proc_pid_stat(5): the name in parentheses may hold anything, so fields are counted from the last parenthesis. */
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

/** Whether any thread of the process computes, or waits for a processor or a disk; of a system that does not list threads, the process. */
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
    if (error instanceof Error && "status" in error && error.status === 1) return []; // ps exits so when nothing matched
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
