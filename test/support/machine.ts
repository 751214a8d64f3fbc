import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bind, baseEnv, type ContainedEnd, ended } from "../../tools/contained.ts";
import { debianRoot, person } from "../../tools/debian-root.ts";
import { makeTestFolder } from "./test-folder.ts";

/** A booted Debian with systemd, in a separate network that has only loopback. */
export interface Machine {
  /** Logs in as the person, as at a terminal, runs the script in a login shell, and logs out. */
  login(script: string): Promise<ContainedEnd>;
  /** Runs a program as root, without a login. */
  asRoot(...argv: readonly [string, ...string[]]): Promise<ContainedEnd>;
  /** Resolves when it has booted again. */
  reboot(): Promise<void>;
  /** Cuts its power, and removes what it wrote. */
  close(): Promise<void>;
}

export interface MachineOptions {
  /** The root file system, which is not changed. */
  readonly root: string;
  readonly binds: readonly Bind[];
  /** Further files of the machine, by absolute path. */
  readonly files: Readonly<Record<string, string>>;
}

const bootTimeoutMs = 90_000;
const programTimeoutMs = 120_000;
/** How systemd-nspawn reports that the machine wants to start again, see `--keep-unit` in systemd-nspawn(1). */
const rebootCode = 133;

/** Why this computer boots no machines; null if it can. */
export function whyNoMachine(): string | null {
  const root = debianRoot();
  if ("missing" in root) return root.missing;
  return existsSync("/usr/bin/systemd-nspawn") ? null : "`systemd-nspawn` is not installed";
}

/** Boots a machine with systemd-nspawn; needs root. @throws Error with its console when it does not boot in time */
export async function bootMachine({ root, binds, files }: MachineOptions): Promise<Machine> {
  const scratch = makeTestFolder("machine");
  for (const folder of ["upper", "work"]) await mkdir(join(scratch, folder), { mode: 0o755 });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(scratch, "upper", path)), { recursive: true });
    await writeFile(join(scratch, "upper", path), text);
  }
  const group = `postern-${basename(scratch)}`;
  const mounts = binds.map(({ from, to, readOnly }) => `--bind${readOnly ? "-ro" : ""}=${from}:${to}`);
  // When `unshare` is killed, the kernel ends the machine.
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const argv = [...namespaces, "sh", join(import.meta.dirname, "boot-machine.sh"), root, scratch, group, ...mounts];
  let machine = await boot(argv);
  return {
    login(script) {
      const shell = [`--working-directory=/home/${person.name}`, "bash", "-lc", script];
      const session = ["--property=PAMName=login", `--property=User=${person.name}`];
      return inside(machine, ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", ...session, ...shell]);
    },
    asRoot: (...command) => inside(machine, command),
    async reboot() {
      const down = ended(machine);
      await inside(machine, ["systemctl", "reboot"]);
      const { code } = await down;
      if (code !== rebootCode) throw new Error(`The machine ended with ${code} instead of rebooting.`);
      machine = await boot(argv);
    },
    async close() {
      const off = ended(machine);
      if (machine.kill("SIGKILL")) await off;
      for (const hierarchy of ["", "unified", "systemd"]) {
        spawnSync("find", [
          join("/sys/fs/cgroup", hierarchy, group),
          "-depth",
          "-type",
          "d",
          "-exec",
          "rmdir",
          "{}",
          ";",
        ]);
      }
      await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Resolves when systemd has started everything. */
async function boot(argv: readonly string[]): Promise<ChildProcess> {
  // Otherwise a host with both versions of control groups gives both to the machine. Two machines can share a root.
  const env = { ...baseEnv, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1", SYSTEMD_NSPAWN_LOCK: "0" };
  const machine = spawn("unshare", argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  let console = "";
  for (const stream of [machine.stdout, machine.stderr]) stream.on("data", (part: Buffer) => (console += part));
  const deadline = Date.now() + bootTimeoutMs;
  while (machine.exitCode === null && Date.now() < deadline) {
    await sleep(100);
    if (initOf(machine) === null) continue;
    const { stdout } = await inside(machine, ["systemctl", "is-system-running"]);
    if (/^(running|degraded)/.test(stdout)) return machine;
  }
  machine.kill("SIGKILL");
  throw new Error(`The machine does not boot:\n${console}`);
}

/** Runs a program as root in the machine. */
function inside(machine: ChildProcess, command: readonly string[]): Promise<ContainedEnd> {
  const namespaces = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"];
  const words = ["--target", String(initOf(machine) ?? 0), ...namespaces, "--", ...command];
  return ended(spawn("nsenter", words, { env: baseEnv, stdio: ["ignore", "pipe", "pipe"], timeout: programTimeoutMs }));
}

/** The host's pid of the machine's systemd, a child of systemd-nspawn; null before it starts and after it ends. */
function initOf({ pid = 0 }: ChildProcess): number | null {
  try {
    const childOf = (parent: number): number =>
      Number(readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ").at(-1));
    return childOf(childOf(pid)) || null;
  } catch {
    return null; // ended
  }
}
