import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const enterRoot = join(import.meta.dirname, "enter-root.sh");

/** A folder of this machine that is mounted in a root. */
export interface Bind {
  readonly from: string;
  readonly to: string;
  readonly readOnly: boolean;
}

/** By number, as the kernel knows them; 0 and 0 is root, with all privileges. */
export interface ContainedUser {
  readonly uid: number;
  readonly gid: number;
}

/** What runs, and as whom. */
export interface ContainedProgram {
  readonly argv: readonly [string, ...string[]];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: ContainedUser;
  readonly workdir: string;
}

/** A folder that becomes `/`, with its mounts; the mount points must exist. */
export interface ContainedRoot {
  readonly path: string;
  readonly binds: readonly Bind[];
  /** Whether the root folder itself can be written to. */
  readonly writable: boolean;
  /** A folder with empty folders `upper` and `work`, for what is written: the root stays as it is. */
  readonly changes?: string;
  /** A network with only loopback, which is down. By default, the caller's network. */
  readonly ownNetwork?: true;
}

/**
 * Runs a program as PID 1 in a separate root, as a container engine would, with its own mounts and processes.
 * When the program ends, the kernel ends its other processes. Needs root.
 */
export function spawnContained(
  { path, binds, writable, changes, ownNetwork }: ContainedRoot,
  { argv, env, user, workdir }: ContainedProgram,
  stdio: "pipe" | "inherit" = "pipe",
): ChildProcess {
  const mounts = binds.flatMap(({ from, to, readOnly }) => [readOnly ? "--read-only" : "--bind", from, to]);
  const overlay = changes === undefined ? [] : ["--changes", changes];
  const place = [path, ...overlay, ...mounts, ...(writable ? ["--writable"] : [])];
  const namespaces = ["--mount", "--pid", ...(ownNetwork ? ["--net"] : [])];
  const who = [String(user.uid), String(user.gid), workdir];
  return spawn(
    "/usr/bin/unshare",
    [...namespaces, "--fork", "--kill-child", "sh", enterRoot, ...place, "--", ...who, ...argv],
    { env, stdio: ["ignore", stdio, stdio] },
  );
}

/** How a program of a root ended. */
export interface ContainedEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs another program in the container, as `docker exec` does. @param init the host's pid of PID 1 */
export function runBeside(init: number, { argv, env, user, workdir }: ContainedProgram): Promise<ContainedEnd> {
  const rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  const who = ["setpriv", "--reuid", String(user.uid), "--regid", String(user.gid), "--clear-groups", ...rights, "--"];
  const inside = ["--target", String(init), "--mount", "--pid", "--", ...who, "env", "-C", workdir, ...argv];
  return ended(spawn("/usr/bin/nsenter", inside, { env, stdio: ["ignore", "pipe", "pipe"] }));
}

/** Waits for the end of a program that was spawned with pipes. */
export function ended(child: ChildProcess): Promise<ContainedEnd> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("close", (code) => done({ code, stdout, stderr }));
  });
}

/** The host's pid of PID 1 in the container; null before it starts and after it ends. */
export function initOf({ pid = 0 }: ChildProcess): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()) || null;
  } catch {
    return null; // ended
  }
}

/** Why this machine cannot create a separate root; null if it can. */
export function whyNotContained(): string | null {
  if (process.platform !== "linux") return "this is not Linux";
  if (process.getuid?.() !== 0) return "only root can create a separate root folder";
  const probe = spawnSync("unshare", ["--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
    encoding: "utf8",
  });
  return probe.status === 0 ? null : `this system refuses: ${(probe.stderr ?? "").trim()}`;
}

/** As in the image: `container/prepare-system.sh` reuses the user of Node's image. */
export const posternUser: ContainedUser = { uid: 1000, gid: 1000 };
export const rootUser: ContainedUser = { uid: 0, gid: 0 };

/** The environment of Node's image. */
export const baseEnv: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};

/** A running container. */
export interface BootedContainer {
  /** Its output so far. */
  output(): string;
  /** The host's pid of its PID 1; null when it has ended. */
  init(): number | null;
  /** Runs a program in it, as `docker exec` does. */
  exec(...argv: readonly [string, ...string[]]): Promise<ContainedEnd>;
  /** As `docker stop`: sends the image's signal, and fails if the container does not end in time. */
  stop(): Promise<ContainedEnd>;
  /** Kills it. */
  kill(): Promise<void>;
}

const bootTimeoutMs = 60_000;
/** Compose gives it 30 seconds. */
const stopTimeoutMs = 30_000;

/**
 * Boots a container: resolves when its gateway listens, or when it has ended.
 * @throws Error with its output when neither happens in time
 */
export async function bootContained(root: ContainedRoot, program: ContainedProgram): Promise<BootedContainer> {
  const child = spawnContained(root, program);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk));
  const end = ended(child);
  const deadline = Date.now() + bootTimeoutMs;
  while (child.exitCode === null && !output.includes("listening on")) {
    if (Date.now() > deadline) throw new Error(`The container does not listen:\n${output}`);
    await sleep(20);
  }
  const init = initOf(child);
  return {
    output: () => output,
    init: () => initOf(child),
    exec: (...argv) => runBeside(init ?? 0, { ...program, argv }),
    async stop() {
      const late = AbortSignal.timeout(stopTimeoutMs);
      if (init !== null) process.kill(init, "SIGTERM");
      const stopped = await Promise.race([
        end,
        new Promise<null>((done) => late.addEventListener("abort", () => done(null))),
      ]);
      if (stopped === null) throw new Error(`The container does not end:\n${output}`);
      return stopped;
    },
    async kill() {
      child.kill("SIGKILL");
      await end;
    },
  };
}
