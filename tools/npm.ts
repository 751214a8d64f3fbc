import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";

/** Several hundred MB may travel; a slow line takes minutes. */
export const installDeadlineMs = 15 * 60_000;

/** Options of an npm command. */
export interface NpmOptions {
  readonly cwd: string;
  /** What runs npm; this process's own Node by default. */
  readonly node?: string;
  /** Instead of this process's variables, of which those of the surrounding npm run are left out. */
  readonly env?: NodeJS.ProcessEnv;
}

/** The file of npm's own command: that of the surrounding `npm run`, or the one on PATH. */
export function npmScript(): string {
  const running = process.env["npm_execpath"];
  if (running?.endsWith(".js") === true) return running;
  const folder = (process.env["PATH"] ?? "").split(":").find((one) => one !== "" && existsSync(join(one, "npm")));
  if (folder === undefined) throw new Error("`npm` is not on PATH.");
  return realpathSync(join(folder, "npm"));
}

/** The folder that packages are kept in between installs, and the registry, are the surrounding npm's; its other settings are not. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(cache|registry|userconfig))/i.test(name)),
  );
}

/** Runs `npm …` to its end. @throws unless it ends with 0 */
export async function runNpm(args: readonly string[], options: NpmOptions): Promise<void> {
  const { cwd, node = process.execPath, env = npmEnvironment() } = options;
  const child = spawn(node, [npmScript(), ...args], {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: installDeadlineMs,
    env,
  });
  await once(child, "exit");
  const { exitCode } = child;
  if (exitCode !== 0)
    throw new Error(`\`npm ${args[0] ?? ""}\` in ${cwd} ended with ${exitCode}. See its words above.`);
}
