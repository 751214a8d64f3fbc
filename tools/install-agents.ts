import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { installDeadlineMs, runNpm } from "./npm.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** Where the pinned agents are. */
export interface InstalledAgents {
  /** Absolute paths of the native binaries, without launchers. */
  readonly claude: string;
  readonly codex: string;
  /** A folder with only `claude` and `codex`, for a PATH. */
  readonly binDir: string;
  /** Gemini CLI's program, run by the Node on PATH. */
  readonly gemini: string;
  /** A folder with only `gemini`: other tests do not have it on their PATH. */
  readonly furtherBinDir: string;
  /** The native binary of OpenCode. */
  readonly opencode: string;
  /** A folder with only `opencode`. */
  readonly openCodeBinDir: string;
}

const agentsDir = resolve(import.meta.dirname, "..", "test", "agents");
const modulesDir = join(agentsDir, "node_modules");
const binDir = join(modulesDir, ".postern-bin");
const furtherBinDir = join(modulesDir, ".postern-further-bin");
const openCodeBinDir = join(modulesDir, ".postern-opencode-bin");
const stampFile = join(modulesDir, ".postern-stamp");
const lockFile = join(agentsDir, ".cache", "install.lock");

/**
 * Installs the agents of `test/agents/package-lock.json` if they are missing; a second call takes a few milliseconds.
 * Simultaneous calls of several processes wait for each other.
 *
 * @param say gets a sentence before each slow step
 */
export async function installAgents(say: (sentence: string) => void): Promise<InstalledAgents> {
  const stamp = await wantedStamp();
  if ((await installedStamp()) !== stamp) {
    const onWait = (): void => say("Another process is installing the agents; waiting for it …");
    await oneAtATime(lockFile, { deadlineMs: installDeadlineMs, onWait }, async () => {
      if ((await installedStamp()) !== stamp) await install(stamp, say);
    });
  }
  return {
    claude: join(binDir, "claude"),
    codex: join(binDir, "codex"),
    binDir,
    gemini: join(furtherBinDir, "gemini"),
    furtherBinDir,
    opencode: join(openCodeBinDir, "opencode"),
    openCodeBinDir,
  };
}

async function wantedStamp(): Promise<string> {
  const lockText = await readFile(join(agentsDir, "package-lock.json"));
  return `${createHash("sha256").update(lockText).digest("hex")} ${process.platform}-${process.arch}`;
}

async function installedStamp(): Promise<string | null> {
  return existsSync(stampFile) ? await readFile(stampFile, "utf8") : null;
}

async function install(stamp: string, say: (sentence: string) => void): Promise<void> {
  say("Installing the pinned agents into test/agents (about 1.1 GB on disk, once) …");
  const startedAt = performance.now();
  // The binaries come as separate packages, so no install script has to run.
  await runNpm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"], { cwd: agentsDir });
  const claude = programIn(modulesDir, "claude-code");
  const codex = programIn(modulesDir, "codex");
  await mkdir(binDir, { recursive: true });
  await symlink(claude, join(binDir, "claude"));
  await symlink(codex, join(binDir, "codex"));
  await mkdir(furtherBinDir, { recursive: true });
  await symlink(programIn(modulesDir, "gemini-cli"), join(furtherBinDir, "gemini"));
  await mkdir(openCodeBinDir, { recursive: true });
  await symlink(programIn(modulesDir, "opencode"), join(openCodeBinDir, "opencode"));
  await writeFile(stampFile, stamp);
  say(`Installed the agents in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
}

const machine = `${process.platform}-${process.arch}`;

/** Where each agent's program can be, in a folder `node_modules`. OpenCode's main package has an install script, this one has none. */
const programs: Readonly<Record<string, (modules: string) => readonly string[]>> = {
  "claude-code": (modules) =>
    [machine, `${machine}-musl`].map((name) => join(modules, `@anthropic-ai/claude-code-${name}`, "claude")),
  codex(modules) {
    const vendor = join(modules, `@openai/codex-${machine}`, "vendor");
    return (existsSync(vendor) ? readdirSync(vendor) : []).map((triple) => join(vendor, triple, "bin", "codex"));
  },
  "gemini-cli": (modules) => [join(modules, "@google/gemini-cli", "bundle", "gemini.js")],
  opencode: (modules) => [join(modules, `opencode-${machine}`, "bin", "opencode")],
};

/** The agent's program in a folder `node_modules`. @throws Error if it is missing */
export function programIn(modules: string, agent: string): string {
  const found = programs[agent]?.(modules).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`There is no ${agent} for ${machine} in ${modules}.`);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const { claude, codex, gemini, opencode } = await installAgents((sentence) => console.log(sentence));
  console.log(`claude  ${claude}\ncodex   ${codex}\ngemini  ${gemini}\nopencode ${opencode}`);
}
