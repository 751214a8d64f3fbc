import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { isErrno } from "../core/errors.ts";

const psTimeoutMs = 5_000;

/**
 * Memory of the processes in bytes; those that have ended count as 0. On Linux a page that several processes share is divided among
 * them (PSS), so that a sum is true; elsewhere it is the resident size.
 */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  if (pids.length === 0) return 0;
  const sizes = process.platform === "linux" ? pids.map(linuxBytes) : await psBytes(pids);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function linuxBytes(pid: number): number {
  const [, kibibytes = "0"] = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`)) ?? [];
  if (kibibytes !== "0") return Number(kibibytes) * 1024;
  const [, resident = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(resident) * 1024;
}

/** Empty for a process that has ended, or is another user's. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return "";
    throw error;
  }
}

async function psBytes(pids: readonly number[]): Promise<readonly number[]> {
  const options = { timeout: psTimeoutMs, env: { LC_ALL: "C" } } as const;
  const { stdout } = await promisify(execFile)("/bin/ps", ["-o", "rss=", "-p", pids.join(",")], options).catch(
    () => ({ stdout: "" }), // all of them have ended
  );
  return stdout
    .trim()
    .split("\n")
    .map((kibibytes) => Number(kibibytes) * 1024 || 0);
}
