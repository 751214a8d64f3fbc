import { constants, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isErrno } from "../../src/core/errors.ts";
import { processTable, startedWithVariable } from "../../src/platform/process-table.ts";
import type { World } from "./gateway.ts";

/** The terminal hosts of this world. */
export function hostsOf({ home }: World): readonly number[] {
  const mark = `"stateDir":"${home}/terminal-host"`;
  return processTable()
    .filter(({ pid, zombie }) => !zombie && commandOf(pid).includes(mark))
    .map(({ pid }) => pid);
}

/** What the terminal hosts run: an agent's own process, without its children. */
export function agentsOf(world: World): readonly number[] {
  const hosts = new Set(hostsOf(world));
  return processTable()
    .filter(({ pid, parentPid, zombie }) => !zombie && hosts.has(parentPid) && ofWorld(world, pid))
    .map(({ pid }) => pid);
}

/** Processes of this world that neither a living terminal host nor the gateway has under it, with their commands. */
export function orphansOf(world: World, gatewayPid: number): readonly string[] {
  const table = processTable();
  const parents = new Map(table.map(({ pid, parentPid }) => [pid, parentPid]));
  const roots = new Set([...hostsOf(world), gatewayPid]);
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (roots.has(at)) return true;
    return false;
  };
  return table
    .filter(({ pid, zombie }) => !zombie && ofWorld(world, pid) && !isBelow(pid))
    .map(({ pid }) => `${pid} ${commandOf(pid).slice(0, 200)}`);
}

/** Sessions that more than one agent's process writes: by the id on its command line, or by the transcript that it has open. */
export function sharedTranscripts(world: World): readonly string[] {
  const holders = new Map<string, Set<number>>();
  for (const { pid, zombie } of processTable()) {
    if (zombie || !ofWorld(world, pid)) continue;
    for (const id of sessionsOf(world, pid)) holders.set(id, (holders.get(id) ?? new Set()).add(pid));
  }
  return [...holders].filter(([, pids]) => pids.size > 1).map(([id, pids]) => `${id}: ${[...pids].join(", ")}`);
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const idArgument = new RegExp(`(?:^--(?:session-id|resume)$|^resume$)`);

function sessionsOf({ root }: World, pid: number): ReadonlySet<string> {
  const argv = commandOf(pid).split("\0");
  const found = new Set<string>();
  const from = argv.findIndex((argument) => idArgument.test(argument));
  const named =
    from < 0 ? undefined : argv.slice(from).find((argument) => new RegExp(`^${uuid.source}$`).test(argument));
  if (named !== undefined) found.add(named);
  for (const path of writtenFilesOf(pid)) {
    const id = path.startsWith(root) && /\.(?:jsonl|lock)$/.test(path) ? uuid.exec(path)?.[0] : undefined;
    if (id !== undefined) found.add(id);
  }
  return found;
}

function ofWorld({ root }: World, pid: number): boolean {
  return startedWithVariable(pid, "HOME", root);
}

function commandOf(pid: number): string {
  return ofProcess(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), "");
}

/** The files that it can write: the gateway has transcripts open as well, to read them. */
function writtenFilesOf(pid: number): readonly string[] {
  const names = ofProcess(() => readdirSync(`/proc/${pid}/fd`), []);
  return names.flatMap((name) =>
    ofProcess(() => {
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${name}`, "latin1"))?.[1] ?? "0";
      const isWritten = (Number.parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
      return isWritten ? [readlinkSync(`/proc/${pid}/fd/${name}`)] : [];
    }, []),
  );
}

/** A process may end while it is looked at. */
function ofProcess<T>(look: () => T, gone: T): T {
  try {
    return look();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return gone;
    throw error;
  }
}
