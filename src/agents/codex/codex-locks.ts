import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../../core/errors.ts";
import { isUuid } from "../../core/ids.ts";
import { createProcessTableReader, processRow } from "../../platform/process-table.ts";
import { descendantsOf, isAlive } from "../../platform/processes.ts";
import type { ExternalHolder } from "../template.ts";

/**
 * While Codex writes a session it holds `<home>/thread-writer-locks/<id>.lock` with flock(2) (measured). The kernel knows the holder, so
 * sessions that start in one directory at the same time are never confused. Linux only: elsewhere the SessionStart hook reports the id.
 */
const locksFolder = "thread-writer-locks";
// More than run on one person's machine. Checking a process costs a look at its open files.
const maxLockingProcesses = 1_000;

/** The session that `pid` or a child writes; null if it holds no lock, or several. */
export async function heldSession(home: string, pid: number): Promise<string | null> {
  const table = await createProcessTableReader(() => false)();
  const pids = [pid, ...descendantsOf(pid, table).map((row) => row.pid)];
  const held = new Set((await Promise.all(pids.map((one) => locksHeldBy(join(home, locksFolder), one)))).flat());
  const [only] = held;
  return held.size === 1 && only !== undefined ? only : null;
}

/** The live process that writes this session, or null. */
export async function lockHolder(home: string, agentSessionId: string): Promise<number | null> {
  if (!isUuid(agentSessionId)) return null;
  const inode = await inodeOf(join(home, locksFolder, `${agentSessionId}.lock`));
  if (inode === null) return null;
  const pids = (await flocks()).filter((lock) => lock.inode === inode).map(({ pid }) => pid);
  for (const pid of pids) {
    const row = processRow(pid);
    if (row === undefined || !isAlive(pid, row.startTime)) continue;
    if ((await locksHeldBy(join(home, locksFolder), pid)).includes(agentSessionId)) return pid;
  }
  return null;
}

/** All sessions that live processes write, from the kernel's table of locks and the holders' open files. */
export async function lockedSessions(home: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const pids = new Set((await flocks()).map(({ pid }) => pid));
  const found = await Promise.all(
    [...pids].slice(0, maxLockingProcesses).map(async (pid) => {
      const ids = await locksHeldBy(join(home, locksFolder), pid);
      return ids.map((id) => [id, { pid, activity: null }] as const);
    }),
  );
  return new Map(found.flat());
}

async function inodeOf(path: string): Promise<bigint | null> {
  try {
    return (await stat(path, { bigint: true })).ino;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  }
}

/** @see proc_locks(5): `1: FLOCK  ADVISORY  WRITE 7791 fe:00:2156279 0 EOF`. */
async function flocks(): Promise<readonly { readonly pid: number; readonly inode: bigint }[]> {
  const text = await textOf("/proc/locks");
  return text.split("\n").flatMap((line) => {
    const [, pid, inode] = /FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+\S+:(\d+)\s/.exec(line) ?? [];
    return pid === undefined || inode === undefined ? [] : [{ pid: Number(pid), inode: BigInt(inode) }];
  });
}

/** Checks open files, since the device numbers in /proc/locks differ from stat(2) on some file systems. */
async function locksHeldBy(folder: string, pid: number): Promise<readonly string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []); // gone, another user's, or no /proc
  const ids: string[] = [];
  for (const descriptor of descriptors) {
    const path = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => ""); // the file was closed in the meantime
    const id = /^(.+)\.lock$/.exec(basename(path))?.[1] ?? "";
    if (!isUuid(id) || basename(dirname(path)) !== locksFolder) continue;
    if (!(await sameFile(path, join(folder, `${id}.lock`)))) continue;
    const info = await textOf(`/proc/${pid}/fdinfo/${descriptor}`);
    if (/^lock:.*FLOCK/m.test(info)) ids.push(id);
  }
  return ids;
}

/** Empty for a file that is gone or not readable. */
async function textOf(path: string): Promise<string> {
  return readFile(path, "latin1").catch(() => "");
}

async function sameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([inodeOf(one), inodeOf(other)]);
  return first !== null && first === second;
}
