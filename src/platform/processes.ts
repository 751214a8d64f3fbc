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

/** A process that can be told from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As {@link startTimeOf} gave it. */
  readonly startTime: string;
}

/** An environment variable that a process and everything it started carry. */
export interface EnvironmentMarker {
  readonly name: string;
  readonly value: string;
}

/** A process tree to end: who began it and, on Linux, what its members carry wherever they went. */
export interface ProcessTree {
  /** Null when only the marker is known. */
  readonly leader: ProcessIdentity | null;
  readonly marker?: EnvironmentMarker;
}

/** How often the processes that are known are checked while they end. */
const POLL_MS = 20;
/**
 * How long until all processes are read again for new members; each pause is twice as long as the one before. With 500 processes the first
 * scan takes 10 to 20 ms of this process (2 cores), a later one 1 ms.
 */
const SCAN_MS = 200;
/** What is left after all leaders are gone gets this long before SIGKILL. */
const STRAGGLER_GRACE_MS = 500;
/** After SIGKILL only the kernel is waited for; a process in an uninterruptible sleep is given up after this. */
const KILL_WAIT_MS = 2_000;

/** Kernel start time of `pid` as opaque text; empty when there is no such process. */
export function startTimeOf(pid: number): string {
  return processRow(pid)?.startTime ?? "";
}

/** Whether the process `pid` still is the one that started at `startTime`; a zombie is not alive. */
export function isAlive(pid: number, startTime: string): boolean {
  const row = processRow(pid);
  return row !== undefined && !row.zombie && row.startTime === startTime;
}

/** Whether some process has this number now, a zombie among them. One call, where {@link isAlive} reads a file. */
export function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false; // 0 and negative numbers name groups
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, "EPERM"); // another user's
  }
}

/** Children, grandchildren and so on of `pid`, the process itself not among them. */
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
 * Sends `signal` to a process, or with a negative number to a process group. False when there is none (any more). Never to our own group
 * (0), to everybody (-1), or to the first process.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  if (!(Math.abs(pid) > 1)) return false;
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH", "EPERM")) return false; // gone, or by now somebody else's
    throw error;
  }
}

/**
 * Sends `signal` to a child. False when there is none (any more). A child that could not be spawned has no pid: to signal the 0 that the
 * system has in its place would signal our own group.
 */
export function signalChild(child: Pick<ChildProcess, "pid" | "kill">, signal: NodeJS.Signals): boolean {
  return child.pid !== undefined && child.kill(signal);
}

/** Sends `signal` to the group of a child that was spawned `detached`. False when there is none (any more), or it could not be spawned. */
export function signalChildGroup({ pid }: Pick<ChildProcess, "pid">, signal: NodeJS.Signals): boolean {
  return pid !== undefined && sendSignal(-pid, signal);
}

/** When and how {@link endGroup} goes on to SIGKILL. */
export interface EndOptions {
  /** Between SIGHUP with SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly clock: Clock;
}

/** Ends one tree: see {@link endGroups}. */
export function endGroup(tree: ProcessTree, options: EndOptions): Promise<{ readonly survivors: readonly number[] }> {
  return endGroups([tree], options);
}

/**
 * Ends process trees: each leader, its process group and session, and all descendants, also those in groups and sessions of their
 * own. SIGHUP and SIGTERM first, SIGKILL after the grace. A group whose leader is gone already is ended too; where markers are known
 * (Linux), only its members that carry the marker.
 * Resolves when none of them is alive. `survivors` are pids that even SIGKILL did not end within two seconds.
 */
export async function endGroups(
  trees: readonly ProcessTree[],
  { graceMs, clock }: EndOptions,
): Promise<{ readonly survivors: readonly number[] }> {
  const known = new Map<number, ProcessRow>();
  // What began before a tree's leader is not of that tree.
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
  signalAll(known, "SIGCONT"); // a stopped program acts on the two only when it runs again
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
    // Elsewhere each row is a run of `ps`: there a zombie stays until the next scan.
    if (process.platform === "linux" ? !isAlive(pid, startTime) : !isRunning(pid)) known.delete(pid);
  }
}

/**
 * Brings `known` up to date: drops the dead, adds whatever belongs to a leader or to one of the known by now. Keeping what was seen
 * before matters: a child of a dead process has a new parent and could not be found again.
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
    // A group that outlived its leader could by now be another one of the same number: then only a marker proves whose it is.
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

/** Groups that are wholly ours first, so that a process forked meanwhile gets the signal too; then everybody by pid. */
function signalAll(known: ReadonlyMap<number, ProcessRow>, signal: NodeJS.Signals): void {
  const groups = new Set<number>();
  for (const row of known.values()) {
    if (known.has(row.groupId)) groups.add(row.groupId); // its leader is ours, so the group is
  }
  for (const groupId of groups) sendSignal(-groupId, signal);
  for (const row of known.values()) {
    if (!groups.has(row.groupId)) sendSignal(row.pid, signal);
  }
}
