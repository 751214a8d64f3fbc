import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, open, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Where the pinned agents are. */
export interface InstalledAgents {
  /** Absolute paths of the native binaries: no launcher stays in between. */
  readonly claude: string;
  readonly codex: string;
  /** A folder that holds `claude` and `codex` and nothing else, for a PATH. */
  readonly binDir: string;
}

const agentsDir = resolve(import.meta.dirname, "..", "test", "agents");
const modulesDir = join(agentsDir, "node_modules");
const binDir = join(modulesDir, ".postern-bin");
const stampFile = join(modulesDir, ".postern-stamp");
const lockFile = join(agentsDir, ".cache", "install.lock");

/** About 250 MB travel; a slow line takes minutes. */
const installDeadlineMs = 15 * 60_000;

/**
 * Installs the agents of `test/agents/package-lock.json` when they are not there yet; a second call costs a few milliseconds.
 * Calls of several processes at once wait for one another.
 *
 * @param say gets a sentence when something takes time.
 */
export async function installAgents(say: (sentence: string) => void): Promise<InstalledAgents> {
  const stamp = await wantedStamp();
  if ((await installedStamp()) !== stamp) {
    const unlock = await lock(say);
    try {
      if ((await installedStamp()) !== stamp) await install(stamp, say);
    } finally {
      await unlock();
    }
  }
  return { claude: join(binDir, "claude"), codex: join(binDir, "codex"), binDir };
}

async function wantedStamp(): Promise<string> {
  const lockText = await readFile(join(agentsDir, "package-lock.json"));
  return `${createHash("sha256").update(lockText).digest("hex")} ${process.platform}-${process.arch}`;
}

async function installedStamp(): Promise<string | null> {
  return existsSync(stampFile) ? await readFile(stampFile, "utf8") : null;
}

async function install(stamp: string, say: (sentence: string) => void): Promise<void> {
  say("Installing the pinned agents into test/agents (about 250 MB, once) …");
  const startedAt = performance.now();
  // The binaries come as packages of their own, so that no install script has to run.
  await npm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"]);
  const claude = findClaude();
  const codex = findCodex();
  await mkdir(binDir, { recursive: true });
  await symlink(claude, join(binDir, "claude"));
  await symlink(codex, join(binDir, "codex"));
  await writeFile(stampFile, stamp);
  say(`Installed the agents in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
}

async function npm(args: readonly string[]): Promise<void> {
  const npmScript = process.env["npm_execpath"];
  const [file, ...first] = npmScript?.endsWith(".js") === true ? [process.execPath, npmScript] : ["npm"];
  const child = spawn(file, [...first, ...args], {
    cwd: agentsDir,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: installDeadlineMs,
    // Settings of the surrounding npm run must not leak into this one.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(cache|registry|userconfig))/i.test(name)),
    ),
  });
  await once(child, "exit");
  const { exitCode } = child;
  if (exitCode !== 0) throw new Error(`\`npm ci\` in test/agents ended with ${exitCode}. See its words above.`);
}

function findClaude(): string {
  const name = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  return firstExisting("Claude Code", [join(modulesDir, name, "claude"), join(modulesDir, `${name}-musl`, "claude")]);
}

function findCodex(): string {
  const vendor = join(modulesDir, `@openai/codex-${process.platform}-${process.arch}`, "vendor");
  const triples = existsSync(vendor) ? readdirSync(vendor) : [];
  return firstExisting(
    "Codex",
    triples.map((triple) => join(vendor, triple, "bin", "codex")),
  );
}

function firstExisting(agent: string, paths: readonly string[]): string {
  const found = paths.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`There is no ${agent} for ${process.platform}-${process.arch} in test/agents.`);
  return found;
}

/** One installation at a time; a lock whose process is gone does not count. */
async function lock(say: (sentence: string) => void): Promise<() => Promise<void>> {
  await mkdir(join(agentsDir, ".cache"), { recursive: true });
  const deadline = Date.now() + installDeadlineMs;
  for (let waited = false; ; waited = true) {
    try {
      const file = await open(lockFile, "wx");
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(lockFile, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST") || Date.now() > deadline) throw error;
      if (await isStale()) await rm(lockFile, { force: true });
      else if (!waited) say("Another process is installing the agents; waiting for it …");
    }
    await sleep(500);
  }
}

async function isStale(): Promise<boolean> {
  const pid = Number(await readFile(lockFile, "utf8").catch(() => "")); // gone in the meantime: tried again
  try {
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

if (process.argv[1] === import.meta.filename) {
  const { claude, codex } = await installAgents((sentence) => console.log(sentence));
  console.log(`claude  ${claude}\ncodex   ${codex}`);
}
