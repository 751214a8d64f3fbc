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
  // The binaries come as packages of their own, so that no install script has to run.
  await runNpm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"], { cwd: agentsDir });
  const claude = findClaude();
  const codex = findCodex();
  await mkdir(binDir, { recursive: true });
  await symlink(claude, join(binDir, "claude"));
  await symlink(codex, join(binDir, "codex"));
  await mkdir(furtherBinDir, { recursive: true });
  await symlink(findGemini(), join(furtherBinDir, "gemini"));
  await mkdir(openCodeBinDir, { recursive: true });
  await symlink(findOpenCode(), join(openCodeBinDir, "opencode"));
  await writeFile(stampFile, stamp);
  say(`Installed the agents in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
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

function findGemini(): string {
  return firstExisting("Gemini CLI", [join(modulesDir, "@google/gemini-cli", "bundle", "gemini.js")]);
}

/** OpenCode's main package has two binaries, one for old processors, and an install script that chooses. */
function findOpenCode(): string {
  const name = `opencode-${process.platform}-${process.arch}`;
  return firstExisting("OpenCode", [join(modulesDir, name, "bin", "opencode")]);
}

function firstExisting(agent: string, paths: readonly string[]): string {
  const found = paths.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`There is no ${agent} for ${process.platform}-${process.arch} in test/agents.`);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const { claude, codex, gemini, opencode } = await installAgents((sentence) => console.log(sentence));
  console.log(`claude  ${claude}\ncodex   ${codex}\ngemini  ${gemini}\nopencode ${opencode}`);
}
