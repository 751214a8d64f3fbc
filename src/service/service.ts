import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { type CommandResult, runCommand } from "../platform/run-command.ts";

/** What is kept running: one gateway, with absolute paths. */
export interface ServiceSpec {
  readonly version: string;
  /** Node, and the command's own file. */
  readonly node: string;
  readonly program: string;
  /** The user's home folder. */
  readonly userHome: string;
  /** Variables of the gateway, none of them secret. */
  readonly environment: Readonly<Record<string, string>>;
  /** File of further variables (0600), read by Node at each start; it may be missing. */
  readonly environmentFile: string;
}

/** How the service is. */
export interface ServiceStatus {
  readonly manager: "systemd" | "launchd";
  /** Its file. */
  readonly path: string;
  readonly installed: boolean;
  /** Whether it starts automatically. */
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | null;
}

/** The part of the system that keeps a gateway running for this user. */
export interface ServiceManager {
  readonly path: string;
  /** What {@link install} writes. */
  readonly text: string;
  /**
   * Writes the file, enables the service, and starts it. Idempotent; what runs already is started anew when the file changed.
   * @param options `restart`: it is started anew in any case
   * @returns what was done, and what else the person may want to do
   * @throws PosternError `service_manager_missing` | `service_failed`
   */
  install(options: {
    readonly restart: boolean;
  }): Promise<{ readonly changed: boolean; readonly hints: readonly string[] }>;
  /** Stops it and removes the file; agents live on. Idempotent. @throws as {@link install} */
  uninstall(): Promise<{ readonly removed: boolean }>;
  /** @throws PosternError `service_manager_missing` */
  status(): Promise<ServiceStatus>;
}

/** The words of the command that the service runs. What is set already goes before the environment file. */
export function argvOf({ node, program, environmentFile }: ServiceSpec): readonly string[] {
  return [node, `--env-file-if-exists=${environmentFile}`, program, "serve"];
}

/** Longer than a gateway may take to stop. */
const timeoutMs = 60_000;

/** Runs the manager's own command, by argv. */
export type RunManager = (...args: readonly string[]) => Promise<CommandResult>;

/** @param environment with PATH, and what the command needs to find its manager */
export function runManager(program: string, environment: Readonly<Record<string, string>>): RunManager {
  return (...args) => runCommand([program, ...args], { env: environment, timeoutMs });
}

/** @throws PosternError `service_failed` with what the command said, unless it ended with 0 */
export async function must(run: RunManager, ...args: readonly string[]): Promise<CommandResult> {
  const result = await run(...args);
  if (result.exitCode === 0) return result;
  const said = result.stderr.trim() || result.stdout.trim() || `exit ${result.exitCode}`;
  throw new PosternError("service_failed", `\`${args.join(" ")}\` did not work: ${said}`);
}

/** @returns whether the file was another one before */
export async function writeWhenChanged(path: string, text: string): Promise<boolean> {
  if ((await readOrNull(path)) === text) return false;
  await mkdir(dirname(path), { recursive: true });
  await writeFileAtomic(path, text);
  return true;
}

/** @returns whether there was a file */
export async function removeFile(path: string): Promise<boolean> {
  const there = (await readOrNull(path)) !== null;
  await rm(path, { force: true });
  return there;
}

/** Null when there is no such file. */
export async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

const head = `# Variables of the gateway that runs as a service, such as ANTHROPIC_API_KEY="…". Read at each start.\n`;

/**
 * Makes the file (0600), or puts these variables into it and leaves the others alone.
 * @throws PosternError `usage` for a value that such a file cannot hold
 */
export async function keepVariables(path: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const before = (await readOrNull(path)) ?? head;
  const kept = before.split("\n").filter((line) => !Object.keys(variables).some((name) => line.startsWith(`${name}=`)));
  const lines = Object.entries(variables).map(([name, value]) => {
    if (!/["\n\r]/.test(value)) return `${name}="${value}"`;
    throw new PosternError("usage", `The value of ${name} has a quote or a line end, which ${path} cannot hold.`);
  });
  const text = `${[kept.join("\n").trimEnd(), ...lines].join("\n")}\n`;
  if (text !== before) await writeFileAtomic(path, text);
}
