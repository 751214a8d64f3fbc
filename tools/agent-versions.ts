import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { AgentTemplate } from "../src/agents/template.ts";
import { builtInTemplates } from "../src/agents/templates.ts";
import { installAgents, programIn } from "./install-agents.ts";
import { npmEnvironment, npmScript, runNpm } from "./npm.ts";

// `node tools/agent-versions.ts [<agent>@<version> …]` installs the agents for `test/e2e/agent-versions.test.ts`: each at its minimum, pinned
// and newest version, or at the named versions.

const agentVersionSchema = z.object({
  agent: z.string(),
  /** Null if npm could not be asked for the newest. */
  version: z.string().nullable(),
  roles: z.array(z.enum(["minimum", "pinned", "newest", "chosen"])),
  /** A folder with only this program, for a PATH; null with a problem. */
  binDir: z.string().nullable(),
  /** Why it cannot be tested. */
  problem: z.string().nullable(),
});

/** An agent at one version. */
export type AgentVersion = z.infer<typeof agentVersionSchema>;
type Wanted = Pick<AgentVersion, "agent" | "version" | "roles" | "problem">;

const agentsDir = resolve(import.meta.dirname, "..", "test", "agents");
const versionsDir = join(agentsDir, ".cache", "versions");
const listFile = join(agentsDir, ".cache", "versions.json");
const machine = `${process.platform}-${process.arch}`;
/** The tests run without network after the installation, and use its list. */
const listLifetimeMs = 60 * 60_000;
const askTimeoutMs = 20_000;

/** The package that contains the program itself, and what installs it. */
const packages: Readonly<Record<string, { readonly name: string; readonly spec: (version: string) => string }>> = {
  "claude-code": {
    name: "@anthropic-ai/claude-code",
    spec: (version) => `@anthropic-ai/claude-code-${machine}@${version}`,
  },
  codex: {
    name: "@openai/codex",
    spec: (version) => `@openai/codex-${machine}@npm:@openai/codex@${version}-${machine}`,
  },
  "gemini-cli": { name: "@google/gemini-cli", spec: (version) => `@google/gemini-cli@${version}` },
  opencode: { name: `opencode-${machine}`, spec: (version) => `opencode-${machine}@${version}` },
};

/** The agents of the last hour's installation, or of a new one. */
export async function agentVersions(say: (sentence: string) => void): Promise<readonly AgentVersion[]> {
  const text = existsSync(listFile) ? await readFile(listFile, "utf8") : "{}";
  const list = z.object({ at: z.number(), versions: z.array(agentVersionSchema) }).safeParse(JSON.parse(text));
  const isUsable = list.success && Date.now() - list.data.at < listLifetimeMs;
  return isUsable ? list.data.versions : installAgentVersions(say);
}

/** Installs what is missing, and removes versions that are no longer wanted. @param chosen `<agent>@<version>`, instead of the usual three */
export async function installAgentVersions(
  say: (sentence: string) => void,
  chosen: readonly string[] = [],
): Promise<readonly AgentVersion[]> {
  await installAgents(say);
  const wanted = chosen.length > 0 ? chosen.map(namedVersion) : (await Promise.all(builtInTemplates.map(usual))).flat();
  const kept = new Set(wanted.map(folderOf));
  // Without npm, and after a choice, the usual versions are needed again.
  const isWhole = chosen.length === 0 && wanted.every(({ version }) => version !== null);
  for (const folder of isWhole && existsSync(versionsDir) ? await readdir(versionsDir) : []) {
    if (!kept.has(folder)) await rm(join(versionsDir, folder), { recursive: true, force: true });
  }
  const versions: AgentVersion[] = [];
  for (const one of wanted) versions.push(await install(one, say));
  await writeFile(listFile, JSON.stringify({ at: Date.now(), versions }));
  return versions;
}

function namedVersion(text: string): Wanted {
  const [agent = "", version = ""] = text.split("@");
  if (packages[agent] === undefined || version === "") throw new Error(`${text} is not <agent>@<version>.`);
  return { agent, version, roles: ["chosen"], problem: null };
}

/** Minimum, pinned and newest version; equal ones once. */
async function usual({ name: agent, releases }: AgentTemplate): Promise<readonly Wanted[]> {
  if (releases === null) return [];
  const newest = await newestOf(releases.npmPackage);
  const found = new Map<string, Wanted>();
  const all = { minimum: releases.minimum, pinned: await pinnedVersion(agent), newest: newest.version } as const;
  for (const role of ["minimum", "pinned", "newest"] as const) {
    const version = all[role];
    const roles = [...(found.get(version ?? "")?.roles ?? []), role];
    found.set(version ?? "", { agent, version, roles, problem: version === null ? newest.problem : null });
  }
  return [...found.values()];
}

const pinsSchema = z.object({
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});

/** The version in `test/agents/package.json`. */
export async function pinnedVersion(agent: string): Promise<string> {
  const pins = pinsSchema.parse(JSON.parse(await readFile(join(agentsDir, "package.json"), "utf8")));
  const name = packages[agent]?.name ?? "";
  const version = pins.dependencies[name] ?? pins.optionalDependencies[name];
  if (version === undefined) throw new Error(`test/agents/package.json does not pin ${agent}.`);
  return version;
}

async function newestOf(npmPackage: string): Promise<Pick<Wanted, "version" | "problem">> {
  const args = ["view", npmPackage, "dist-tags.latest", "--fetch-retries=0", `--fetch-timeout=${askTimeoutMs}`];
  try {
    const options = { env: npmEnvironment(), timeout: askTimeoutMs };
    const { stdout } = await promisify(execFile)(process.execPath, [npmScript(), ...args], options);
    return { version: z.string().regex(/^\d/).parse(stdout.trim()), problem: null };
  } catch {
    return { version: null, problem: `npm does not answer which version of ${npmPackage} is the newest` };
  }
}

function folderOf({ agent, version }: Pick<Wanted, "agent" | "version">): string {
  return `${agent}-${version}`;
}

async function install(wanted: Wanted, say: (sentence: string) => void): Promise<AgentVersion> {
  const { agent, version, roles, problem } = wanted;
  if (version === null) return { ...wanted, binDir: null };
  const folder = join(versionsDir, folderOf(wanted));
  const binDir = join(folder, "bin");
  try {
    if (!existsSync(binDir)) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      const modules = join(roles.includes("pinned") ? agentsDir : folder, "node_modules");
      if (!roles.includes("pinned")) {
        say(`Installing ${agent} ${version} …`);
        await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
        const spec = packages[agent]?.spec(version) ?? "";
        await runNpm(["install", "--ignore-scripts", "--no-fund", "--no-audit", "--fetch-retries=0", spec], {
          cwd: folder,
        });
      }
      const program = programIn(modules, agent);
      await mkdir(join(folder, "bin.part"));
      await symlink(program, join(folder, "bin.part", binaryNameOf(agent)));
      await rename(join(folder, "bin.part"), binDir);
    }
    return { agent, version, roles, problem, binDir };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { agent, version, roles, binDir: null, problem: `cannot be installed: ${reason}` };
  }
}

function binaryNameOf(agent: string): string {
  return builtInTemplates.find(({ name }) => name === agent)?.binaryName ?? agent;
}

if (process.argv[1] === import.meta.filename) {
  const versions = await installAgentVersions((sentence) => console.log(sentence), process.argv.slice(2));
  for (const { agent, version, roles, problem } of versions) {
    console.log(`${agent} ${version ?? "?"} (${roles.join(", ")})${problem === null ? "" : `: ${problem}`}`);
  }
}
