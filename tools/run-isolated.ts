import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

// Inside an empty network namespace: enables loopback, runs `program args…` without the namespace's privileges, and ends the
// processes that it leaves. Called by tools/test.ts through `unshare`; fails if the namespace is not empty.

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error("Which program? node tools/run-isolated.ts <program> [args…]");

execFileSync("ip", ["link", "set", "lo", "up"], { stdio: ["ignore", "inherit", "inherit"] });
const others = Object.keys(networkInterfaces()).filter((name) => name !== "lo");
if (others.length > 0) throw new Error(`The network namespace is not empty: ${others.join(", ")}.`);

const dropsPrivileges = process.getuid?.() !== 0;
const [file, ...rest] = dropsPrivileges
  ? ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--", program, ...args]
  : [program, ...args];
const child = spawn(file, rest, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
await once(child, "exit"); // rejects when it cannot be run
process.exitCode = child.exitCode ?? 1;
await endLeftovers();

/** Only the tests use this namespace, so they started every process that is still in it. */
async function endLeftovers(): Promise<void> {
  if (leftovers().length === 0) return;
  await sleep(500); // some are just on their way out
  for (const pid of leftovers()) {
    console.log(`· Left running by a test, ended now: ${commandOf(pid)}`);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // already ended
    }
  }
}

function leftovers(): readonly number[] {
  const own = namespaceOf("self");
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => namespaceOf(pid) === own).map(Number);
}

function namespaceOf(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null; // gone, or another user's: not ours
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 200);
  } catch {
    return `process ${pid}`;
  }
}
