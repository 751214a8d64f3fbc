import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { runCommand } from "./run-command.ts";

interface PortOwner {
  readonly pid: number;
  readonly name: string;
}

const listening = "0A";
/** Flags of a Unix socket that listens. */
const acceptsConnections = "00010000";
const timeoutMs = 5_000;

/** The process of this user that listens on the TCP port; null when there is none, or it cannot be determined. */
export async function portOwner(port: number, pathVariable: string): Promise<PortOwner | null> {
  return process.platform === "linux" ? linuxOwner(port) : lsofOwner(port, pathVariable);
}

/** The process of this user that listens on the Unix socket; null as above. */
export async function socketOwner(path: string, pathVariable: string): Promise<number | null> {
  if (process.platform !== "linux") {
    const { stdout } = await runCommand(["lsof", "-t", "--", path], lsofOptions(pathVariable));
    return Number(stdout.trim().split("\n")[0]) || null;
  }
  const rows = (unlessGone(() => readFileSync("/proc/net/unix", "utf8")) ?? "").split("\n");
  const inodes = rows.flatMap((row) => {
    const [, , , flags, , , inode] = row.split(/\s+/);
    return row.endsWith(` ${path}`) && flags === acceptsConnections ? [`socket:[${inode}]`] : [];
  });
  return holderOf(new Set(inodes))?.pid ?? null;
}

function linuxOwner(port: number): PortOwner | null {
  return holderOf(new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => inodesOf(file, port))));
}

function holderOf(sockets: ReadonlySet<string>): PortOwner | null {
  if (sockets.size === 0) return null;
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const holds = unlessGone(() => readdirSync(`/proc/${pid}/fd`))?.some((fd) => {
      const target = unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`));
      return target !== null && sockets.has(target);
    });
    if (holds) return { pid, name: programOf(pid) };
  }
  return null;
}

/** For a Node process, the kernel's process name is the name of a thread. */
function programOf(pid: number): string {
  const [program = ""] = (unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "").split("\0", 1);
  return program === "" ? "a program" : basename(program);
}

function inodesOf(file: string, port: number): readonly string[] {
  const rows = (unlessGone(() => readFileSync(file, "utf8")) ?? "").trim().split("\n").slice(1);
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    return state === listening && local.endsWith(wanted) ? [`socket:[${inode}]`] : [];
  });
}

async function lsofOwner(port: number, pathVariable: string): Promise<PortOwner | null> {
  const argv = ["lsof", "-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"] as const;
  const { stdout } = await runCommand(argv, lsofOptions(pathVariable));
  const pid = Number(/^p(\d+)$/m.exec(stdout)?.[1]);
  return Number.isInteger(pid) ? { pid, name: /^c(.+)$/m.exec(stdout)?.[1] ?? "a program" } : null;
}

function lsofOptions(pathVariable: string) {
  return { env: { PATH: `${pathVariable}:/usr/sbin` }, timeoutMs };
}

/** Null for a process that has ended, or is another user's. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null; // as above
  }
}
