import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";

/** Enough for several hundred MB on a slow connection. */
export const installDeadlineMs = 15 * 60_000;

/** Options of an npm command. */
export interface NpmOptions {
  readonly cwd: string;
  /** Runs npm; by default this process's Node. */
  readonly node?: string;
  /** Replaces this process's variables (without those of a surrounding npm run). */
  readonly env?: NodeJS.ProcessEnv;
}

/** npm's script: that of the surrounding `npm run`, or the one on PATH. */
export function npmScript(): string {
  const running = process.env["npm_execpath"];
  if (running?.endsWith(".js") === true) return running;
  const folder = (process.env["PATH"] ?? "").split(":").find((one) => one !== "" && existsSync(join(one, "npm")));
  if (folder === undefined) throw new Error("`npm` is not on PATH.");
  return realpathSync(join(folder, "npm"));
}

/** The package of {@link npmScript}. */
export function npmFolder(): string {
  return resolve(npmScript(), "../..");
}

/** Cache folder and registry come from the surrounding npm, other settings do not. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(cache|registry|userconfig))/i.test(name)),
  );
}

/** Runs `npm …`. @throws unless it exits with 0 */
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
