import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, PosternError } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { type CommandResult, runCommand } from "../platform/run-command.ts";

/** The gateway to run, with absolute paths. */
export interface ServiceSpec {
  readonly version: string;
  /** Node, and the command's own file. */
  readonly node: string;
  readonly program: string;
  /** The user's home folder. */
  readonly userHome: string;
  /** Without secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** File of further variables (0600), read by Node at each start; it may be missing. */
  readonly environmentFile: string;
}

export interface ServiceStatus {
  readonly manager: "systemd" | "launchd";
  /** The service's file. */
  readonly path: string;
  readonly installed: boolean;
  /** Whether it starts automatically. */
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | null;
}

/** The system's manager of user services. */
export interface ServiceManager {
  readonly path: string;
  /** The content of the file that {@link install} writes. */
  readonly text: string;
  /** The command that shows the gateway's log. */
  readonly showLog: string;
  /**
   * Writes the file, then enables and starts the service; restarts it if the file changed or with `restart`. Idempotent.
   * @returns whether the file changed, and hints for the user
   * @throws PosternError `service_manager_missing` | `service_failed`
   */
  install(options: {
    readonly restart: boolean;
  }): Promise<{ readonly changed: boolean; readonly hints: readonly string[] }>;
  /** Stops the service and removes the file; agents keep running. Idempotent. @throws as {@link install} */
  uninstall(): Promise<{ readonly removed: boolean }>;
  /** Stops the running service until its next start. @returns the command that did it @throws as {@link install} */
  stop(): Promise<string>;
  /** @throws PosternError `service_manager_missing` */
  status(): Promise<ServiceStatus>;
}

/** The command of the service. Variables that are already set take precedence over the environment file. */
export function argvOf({ node, program, environmentFile }: ServiceSpec): readonly string[] {
  return [node, `--env-file-if-exists=${environmentFile}`, program, "serve"];
}

/** Longer than a gateway needs to stop. */
const timeoutMs = 60_000;

export type RunManager = (...args: readonly string[]) => Promise<CommandResult>;

/** @param environment with PATH, and what the command needs to find its manager */
export function runManager(program: string, environment: Readonly<Record<string, string>>): RunManager {
  return (...args) => runCommand([program, ...args], { env: environment, timeoutMs });
}

/** @throws PosternError `service_failed` with the command's output, unless it exits with 0 */
export async function must(run: RunManager, ...args: readonly string[]): Promise<CommandResult> {
  const result = await run(...args);
  if (result.exitCode === 0) return result;
  const reason = result.stderr.trim() || result.stdout.trim() || `exit ${result.exitCode}`;
  throw new PosternError("service_failed", `\`${args.join(" ")}\` failed: ${reason}`);
}

/** @returns whether the file was written, because it had other content */
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

const head = `# Environment of the gateway service, such as ANTHROPIC_API_KEY="…". Read at each start.\n`;

/**
 * Sets these variables in the file (0600) and keeps the others.
 * @throws PosternError `usage` for a value with a quote or a line break
 */
export async function keepVariables(path: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const before = (await readOrNull(path)) ?? head;
  const kept = before.split("\n").filter((line) => !Object.keys(variables).some((name) => line.startsWith(`${name}=`)));
  const lines = Object.entries(variables).map(([name, value]) => {
    if (!/["\n\r]/.test(value)) return `${name}="${value}"`;
    throw new PosternError(
      "usage",
      `The value of ${name} contains a quote or a line break, which ${path} cannot store.`,
    );
  });
  const text = `${[kept.join("\n").trimEnd(), ...lines].join("\n")}\n`;
  if (text !== before) await writeFileAtomic(path, text);
}
