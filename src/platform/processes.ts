import type { ChildProcess } from "node:child_process";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import {
  createProcessTableReader,
  inSlices,
  type ProcessRow,
  processRow,
  processTable,
  startedBefore,
  startedWithVariable,
} from "./process-table.ts";

/** Distinguishes a process from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** From {@link startTimeOf}. */
  readonly startTime: string;
}

/** An environment variable of a process and everything it started. */
export interface EnvironmentMarker {
  readonly name: string;
  readonly value: string;
}

/** A process tree to end: its leader and, on Linux, the variable of its members. */
export interface ProcessTree {
  /** Null when only the marker is known. */
  readonly leader: ProcessIdentity | null;
  readonly marker?: EnvironmentMarker;
}

const POLL_MS = 20;
/**
 * Time until all processes are scanned again for new members; doubled each time. With 500 processes the first scan takes 10 to 20 ms (2
 * cores), a later one 1 ms.
 */
const SCAN_MS = 200;
/** Grace before SIGKILL once all leaders have ended. */
const STRAGGLER_GRACE_MS = 500;
/** After SIGKILL; a process in an uninterruptible sleep is given up then. */
const KILL_WAIT_MS = 2_000;

/** Kernel start time of `pid` as opaque text; empty when there is no such process. */
export function startTimeOf(pid: number): string {
  return processRow(pid)?.startTime ?? "";
}

/** Whether `pid` is still the process that started at `startTime`; a zombie is not alive. */
export function isAlive(pid: number, startTime: string): boolean {
  const row = processRow(pid);
  return row !== undefined && !row.zombie && row.startTime === startTime;
}

/** Whether any process, or zombie, has this pid. One system call, where {@link isAlive} reads a file. */
export function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false; // 0 and negative numbers name groups
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, "EPERM"); // another user's
  }
}

/** Children, grandchildren and so on of `pid`. */
export function descendantsOf(pid: number, table: readonly ProcessRow[] = processTable()): readonly ProcessRow[] {
  const found: ProcessRow[] = [];
  const seen = new Set([pid]);
  for (let parents = [pid]; parents.length > 0; ) {
    const children = table.filter((row) => parents.includes(row.parentPid) && !seen.has(row.pid));
    for (const child of children) seen.add(child.pid);
    found.push(...children);
    parents = children.map((row) => row.pid);
  }
  return found;
}

/**
 * Sends `signal` to a process, or with a negative number to a process group; never to our own group (0), to all processes (-1), or to
 * the first process. False when there is none.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  if (!(Math.abs(pid) > 1)) return false;
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH", "EPERM")) return false; // ended, or another user's by now
    throw error;
  }
}

/** Sends `signal` to a child. False when it has ended or could not be spawned: it has no pid then, and 0 would signal our own group. */
export function signalChild(child: Pick<ChildProcess, "pid" | "kill">, signal: NodeJS.Signals): boolean {
  return child.pid !== undefined && child.kill(signal);
}

/** Like {@link signalChild}, for the process group of a child that was spawned `detached`. */
export function signalChildGroup({ pid }: Pick<ChildProcess, "pid">, signal: NodeJS.Signals): boolean {
  return pid !== undefined && sendSignal(-pid, signal);
}

interface EndOptions {
  /** The time between SIGHUP and SIGTERM, which are sent together, and SIGKILL. */
  readonly graceMs: number;
  readonly clock: Clock;
}

/** Ends one tree: see {@link endGroups}. */
export function endGroup(tree: ProcessTree, options: EndOptions): Promise<{ readonly survivors: readonly number[] }> {
  return endGroups([tree], options);
}

/**
 * Ends process trees: each leader, its process group and session, and all descendants, also in other groups and sessions. SIGHUP and
 * SIGTERM first, SIGKILL after the grace. A group whose leader has ended is ended too; where markers are known (Linux), only members
 * with the marker. `survivors` are pids that SIGKILL did not end within two seconds.
 */
export async function endGroups(
  trees: readonly ProcessTree[],
  { graceMs, clock }: EndOptions,
): Promise<{ readonly survivors: readonly number[] }> {
  const known = new Map<number, ProcessRow>();
  // A process older than a tree's leader is not in that tree.
  const readTable = createProcessTableReader(({ startTime }) =>
    trees.every(({ leader }) => leader !== null && startedBefore(startTime, leader.startTime)),
  );
  let scanAt = Number.NEGATIVE_INFINITY;
  let nextScanMs = SCAN_MS;
  const someLeft = async (): Promise<boolean> => {
    dropEnded(known);
    // A tree counts as ended only after a new scan.
    if (known.size === 0 || clock.now() >= scanAt) {
      await findMembers(known, { trees, table: await readTable() });
      scanAt = clock.now() + nextScanMs;
      nextScanMs *= 2;
    }
    return known.size > 0;
  };
  if (!(await someLeft())) return { survivors: [] };
  signalAll(known, "SIGHUP");
  signalAll(known, "SIGTERM");
  signalAll(known, "SIGCONT"); // a stopped program handles the two signals only once it runs
  let deadline = clock.now() + graceMs;
  const leaderLives = (): boolean => trees.some(({ leader }) => leader !== null && known.has(leader.pid));
  let leadersLived = leaderLives();
  while (clock.now() < deadline) {
    await clock.sleep(POLL_MS);
    if (!(await someLeft())) return { survivors: [] };
    if (leadersLived && !leaderLives()) {
      leadersLived = false;
      deadline = Math.min(deadline, clock.now() + STRAGGLER_GRACE_MS);
    }
  }
  const giveUpAt = clock.now() + KILL_WAIT_MS;
  scanAt = Number.NEGATIVE_INFINITY;
  nextScanMs = SCAN_MS;
  while ((await someLeft()) && clock.now() < giveUpAt) {
    signalAll(known, "SIGKILL");
    await clock.sleep(POLL_MS);
  }
  return { survivors: [...known.keys()] };
}

function dropEnded(known: Map<number, ProcessRow>): void {
  for (const [pid, { startTime }] of known) {
    // On other systems, each row needs a run of `ps`, so a zombie stays until the next scan.
    if (process.platform === "linux" ? !isAlive(pid, startTime) : !isRunning(pid)) known.delete(pid);
  }
}

/**
 * Updates `known`: drops processes that ended, adds members of the trees. Earlier members are kept, because a child of a dead process has a new
 * parent and could not be found again.
 */
async function findMembers(
  known: Map<number, ProcessRow>,
  { trees, table: all }: { readonly trees: readonly ProcessTree[]; readonly table: readonly ProcessRow[] },
): Promise<void> {
  const table = all.filter((row) => !row.zombie && row.pid !== process.pid);
  const rows = new Map(table.map((row) => [row.pid, row]));
  for (const [pid, before] of known) {
    if (rows.get(pid)?.startTime !== before.startTime) known.delete(pid);
  }
  for (const { leader, marker } of trees) {
    const leaderRow = leader === null ? undefined : rows.get(leader.pid);
    const leaderAlive = leaderRow !== undefined && leaderRow.startTime === leader?.startTime;
    if (leaderAlive) known.set(leaderRow.pid, leaderRow);
    // A group without its leader may be a later group with the same number; then only a marker identifies it.
    const groupProves =
      leaderAlive || (leaderRow === undefined && (marker === undefined || process.platform !== "linux"));
    await inSlices(table, (row) => {
      if (known.has(row.pid)) return;
      const inGroup = groupProves && (row.groupId === leader?.pid || row.sessionId === leader?.pid);
      const isOlder = leader !== null && startedBefore(row.startTime, leader.startTime);
      const marked = marker !== undefined && !isOlder && startedWithVariable(row.pid, marker.name, marker.value);
      if (inGroup || marked) known.set(row.pid, row);
    });
  }
  for (const pid of [...known.keys()]) {
    for (const row of descendantsOf(pid, table)) known.set(row.pid, row);
  }
}

/** Signals the groups of known leaders first, so that a process forked in between also receives it; then the others by pid. */
function signalAll(known: ReadonlyMap<number, ProcessRow>, signal: NodeJS.Signals): void {
  const groups = new Set<number>();
  for (const row of known.values()) {
    if (known.has(row.groupId)) groups.add(row.groupId);
  }
  for (const groupId of groups) sendSignal(-groupId, signal);
  for (const row of known.values()) {
    if (!groups.has(row.groupId)) sendSignal(row.pid, signal);
  }
}
