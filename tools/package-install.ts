import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { installDeadlineMs, npmEnvironment, npmScript, runNpm } from "./npm.ts";
import { oneAtATime } from "./one-at-a-time.ts";

// Everything needed to install the packed package without a registry: its dependencies, and the newest Node.

const root = resolve(import.meta.dirname, "..");
const nodesDir = join(root, "test", "nodes");
/** What is kept between runs. */
export const packageCache = join(root, ".cache", "package");
const npmCache = join(packageCache, "npm");
const stampFile = join(packageCache, "prepared");
/** The package's dependencies as npm installed them, reused because each install would unpack thousands of files. */
const installedModules = join(packageCache, "installed", "node_modules");

/** The package's `package.json`. */
export const packageSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
});

/** The Node versions on which the package is tested. */
export interface TriedNodes {
  /** The oldest supported one, which also runs the tests. */
  readonly 24: string;
  /** From `test/nodes/package-lock.json`. */
  readonly 26: string;
}

/**
 * Fetches once what {@link installTarball} needs; a second call costs a few milliseconds. Simultaneous calls of several processes wait for
 * each other.
 * @param say gets a sentence before each slow step
 */
export async function preparePackageInstall(say: (sentence: string) => void): Promise<TriedNodes> {
  const stamp = await wantedStamp();
  const isPrepared = async (): Promise<boolean> =>
    existsSync(stampFile) &&
    (await readFile(stampFile, "utf8")) === stamp &&
    [newestNode(), installedModules].every((it) => existsSync(it));
  if (!(await isPrepared())) {
    const onWait = (): void => say("Another process is downloading the dependencies; waiting for it …");
    const lockFile = join(packageCache, "prepare.lock");
    await oneAtATime(lockFile, { deadlineMs: installDeadlineMs, onWait }, async () => {
      if (!(await isPrepared())) await prepare(stamp, say);
    });
  }
  return { 24: join(root, "node_modules", "node", "bin", "node"), 26: newestNode() };
}

async function prepare(stamp: string, say: (sentence: string) => void): Promise<void> {
  say("Downloading the package's dependencies and the newest Node (about 60 MB, once) …");
  await runNpm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"], { cwd: nodesDir });
  const folder = dirname(installedModules);
  const fresh = `${folder}.new`;
  for (const one of [folder, fresh]) await rm(one, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  const { dependencies } = await ownPackage();
  await writeFile(join(fresh, "package.json"), JSON.stringify({ name: "stub", version: "0.0.0", dependencies }));
  // Only Node is on PATH, so that a package that needs a compiler or another program fails here.
  const node = newestNode();
  const env = { ...npmEnvironment(), PATH: dirname(node) };
  await runNpm(["install", ...installOptions], { cwd: fresh, node, env });
  await rename(fresh, folder);
  await writeFile(stampFile, stamp);
}

const installOptions = ["--omit=dev", "--no-fund", "--no-audit", "--no-package-lock", `--cache=${npmCache}`] as const;

async function wantedStamp(): Promise<string> {
  const { dependencies } = await ownPackage();
  const nodes = await readFile(join(nodesDir, "package-lock.json"), "utf8");
  const hash = createHash("sha256").update(JSON.stringify(dependencies)).update(nodes).update(npmScript());
  return `${hash.digest("hex")} ${process.platform}-${process.arch}`;
}

async function ownPackage(): Promise<z.infer<typeof packageSchema>> {
  return packageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
}

function newestNode(): string {
  const modules = join(nodesDir, "node_modules");
  const name = existsSync(modules) ? readdirSync(modules).find((one) => one.startsWith("node-")) : undefined;
  return join(modules, name ?? "node", "bin", "node");
}

/**
 * `npm install <tarball>`, without development dependencies, from the downloaded packages and without a registry. A folder
 * without packages starts with the tarball's dependencies, as npm installed them there.
 * @param options `folder` has a `package.json`; `node` runs npm, and `path` is the PATH of packages' scripts
 */
export async function installTarball(
  tarball: string,
  { folder, node, path }: { readonly folder: string; readonly node: string; readonly path: string },
): Promise<void> {
  if (!existsSync(join(folder, "node_modules"))) await copyModules(folder);
  const env = { ...npmEnvironment(), PATH: path };
  await runNpm(["install", tarball, "--offline", ...installOptions], { cwd: folder, node, env });
}

/** As hard links if possible: npm replaces files and changes only its own list. */
async function copyModules(folder: string): Promise<void> {
  const run = promisify(execFile);
  const list = join("node_modules", ".package-lock.json");
  try {
    await run("cp", ["-al", installedModules, folder]);
  } catch {
    await run("cp", ["-a", installedModules, folder]); // another disk
  }
  await rm(join(folder, list));
  await copyFile(join(dirname(installedModules), list), join(folder, list));
}
