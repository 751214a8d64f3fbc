import { execFile, spawn } from "node:child_process";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { sharedCompileCache } from "./compile-cache.ts";
import { withBundles } from "./with-bundles.ts";

const ownBin = resolve(import.meta.dirname, "../../bin/postern.js");

/** Node's arguments to run `bin`. */
function argumentsFor(bin: string): readonly string[] {
  return bin === ownBin ? [...withBundles, bin] : [bin];
}

/** How a finished `postern` process ended. */
export interface FinishedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of a separate `postern`: a state folder, and only those variables of the caller that a program needs. */
export function posternEnvironment(home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: join(home, "user"),
    NODE_COMPILE_CACHE: sharedCompileCache(),
    POSTERN_HOME: home,
    POSTERN_LOG_LEVEL: "silent",
    ...more,
  };
}

/** Runs `postern` to its end in a separate process. */
export function runPostern(
  argv: readonly string[],
  options: {
    readonly env: Record<string, string>;
    readonly cwd?: string;
    readonly node?: string;
    readonly bin?: string;
  },
): Promise<FinishedProcess> {
  const { env, cwd, node, bin = ownBin } = options;
  const [file, first] = node === undefined ? [process.execPath, argumentsFor(bin)] : [node, [bin]];
  return new Promise((done) => {
    const child = execFile(file, [...first, ...argv], { env, cwd, timeout: 60_000 }, (_error, stdout, stderr) => {
      done({ code: child.exitCode, stdout, stderr });
    });
  });
}

/** A `postern serve` that listens. */
export interface ServingProcess {
  readonly url: string;
  readonly pid: number;
  /** Sends the signal and waits for the end. */
  end(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<FinishedProcess & { readonly signal: string | null }>;
}

/** Builds the package into `folder`, as npm would install it but with this checkout's dependencies and no pages. Returns its command. */
export async function installPackage(folder: string): Promise<string> {
  const repository = resolve(import.meta.dirname, "../..");
  await mkdir(folder, { recursive: true });
  await cp(join(repository, "bin"), join(folder, "bin"), { recursive: true });
  await cp(join(repository, "package.json"), join(folder, "package.json"));
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const build = [join(repository, "tools/build.ts"), join(folder, "dist"), "--no-web", "--no-check"];
  await promisify(execFile)(process.execPath, build);
  return join(folder, "bin", "postern.js");
}

/** Where `postern serve` listens, and how it is started: `bin` with this Node, or `command` directly. */
interface ServeOptions {
  readonly bin?: string | undefined;
  readonly command?: readonly [string, ...string[]];
  readonly port?: number;
}

/** Starts `postern serve` on any free port, or on `port`, and waits until it prints its address. */
export async function servePostern(
  env: Record<string, string>,
  { bin = ownBin, command = [process.execPath, ...argumentsFor(bin)], port = 0 }: ServeOptions = {},
): Promise<ServingProcess> {
  const [file, ...first] = command;
  const child = spawn(file, [...first, "serve", "--port", String(port)], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<{ code: number | null; signal: string | null }>((done) => {
    child.on("close", (code, signal) => done({ code, signal }));
  });
  const url = await new Promise<string>((listening, failed) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const address = /listening on (http:\/\/\S+?)[,)]/.exec(stdout)?.[1];
      if (address !== undefined) listening(address);
    });
    void ended.then(({ code }) => failed(new Error(`postern serve ended with ${code}: ${stderr}`)));
  });
  return {
    url,
    pid: child.pid ?? 0,
    async end(signal) {
      child.kill(signal);
      return { ...(await ended), stdout, stderr };
    },
  };
}
