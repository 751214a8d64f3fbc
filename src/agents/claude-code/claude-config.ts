import { mkdir, realpath, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { createKeyedLock } from "../../core/single-flight.ts";
import { draftFile } from "../../platform/files.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import { agentError } from "../errors.ts";
import type { Environment } from "../template.ts";

const configSchema = z.record(z.string(), z.unknown());
/** The content of `.claude.json`. */
export type ClaudeConfig = z.infer<typeof configSchema>;

// Claude Code locks with a folder `<file>.lock` (proper-lockfile: stale after ten seconds without an update). Every short `claude` command leaves
// a lock behind.
const staleLockMs = 10_000;
const lockWaitMs = 3_000;
const lockPollMs = 20;
const maxAttempts = 20;
/** Claude Code keeps pasted text in it: tens of megabytes for some users. */
const maxConfigBytes = 64 * 1024 * 1024;
const writers = createKeyedLock();

/**
 * Changes Claude Code's state file: reads it under its lock, applies `change`, and replaces it atomically. Writes nothing if `change`
 * changes nothing. Links are kept.
 * @throws PosternError `agent_start_failed` if the file is not a JSON object
 */
export function changeClaudeConfig(path: string, change: (config: ClaudeConfig) => ClaudeConfig): Promise<void> {
  return writers.run(path, async () => {
    const before = await readConfig(path);
    if (isDeepStrictEqual(change(before.config), before.config)) return;
    await mkdir(dirname(before.target), { recursive: true, mode: 0o700 });
    const unlock = await lock(`${path}.lock`);
    try {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) if (await tryChange(path, change)) return;
    } finally {
      await unlock();
    }
    throw agentError(
      "agent_start_failed",
      `Cannot start claude-code: ${path} is being written continuously. Try again.`,
    );
  });
}

/** @returns false if the file was written in the meantime: Claude Code sometimes writes without its lock */
async function tryChange(path: string, change: (config: ClaudeConfig) => ClaudeConfig): Promise<boolean> {
  const { config, target, mode, state } = await readConfig(path);
  const changed = change(config);
  if (isDeepStrictEqual(changed, config)) return true;
  const draft = await draftFile(target, `${JSON.stringify(changed, null, 2)}\n`, { mode });
  if ((await fileState(target)) !== state) {
    await draft.discard();
    return false;
  }
  await draft.commit();
  return true;
}

/** Changes whenever the file is written or replaced; null if there is none. */
async function fileState(path: string): Promise<string | null> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

/**
 * The state file; empty if there is none.
 * @throws PosternError `agent_start_failed` if the file is not a JSON object
 */
export async function readClaudeConfig(path: string): Promise<ClaudeConfig> {
  return (await readConfig(path)).config;
}

/** The content of the file, the `target` that a link leads to, and the file's `state` from before it was read. */
async function readConfig(path: string) {
  let bytes: Awaited<ReturnType<typeof readSmallFile>>;
  let target: string;
  let mode: number;
  let state: string | null;
  try {
    target = await realpath(path);
    state = await fileState(target);
    bytes = await readSmallFile(target, maxConfigBytes);
    mode = (await stat(target)).mode & 0o777;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { config: {}, target: path, mode: 0o600, state: null };
    throw error;
  }
  const parsed = configSchema.safeParse(Buffer.isBuffer(bytes) ? parseJson(bytes.toString("utf8")) : undefined);
  if (!parsed.success) {
    throw agentError(
      "agent_start_failed",
      `Cannot start claude-code: ${path} is not a JSON object, so Postern leaves it unchanged. Run \`claude\` once to repair it.`,
    );
  }
  return { config: parsed.data, target, mode, state };
}

function parseJson(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller reports it, with the path
  }
}

/** After the wait, the write proceeds without the lock. It is atomic, and only another write since our read could be lost. */
async function lock(path: string): Promise<() => Promise<void>> {
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    try {
      await mkdir(path);
      return () => rmdir(path).catch(() => undefined); // another process took it over as stale
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    const age = await lockAge(path);
    if (age !== null && age > staleLockMs)
      await rmdir(path).catch(() => undefined); // another process was faster
    else if (Date.now() > deadline) return async () => undefined;
    else await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
}

async function lockAge(path: string): Promise<number | null> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

/** Keeps Claude Code from calling home and from updating itself during a session. */
export const quiet: Environment = {
  DISABLE_TELEMETRY: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
};

/** Those defaults whose variables the environment does not set. */
export function unlessSet(defaults: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => env[name] === undefined));
}

export function configDir(env: Environment): string {
  return env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
}

/** As in Claude Code, an older `.config.json` in its folder takes precedence over `.claude.json`. */
export async function configPath(env: Environment): Promise<string> {
  const older = join(configDir(env), ".config.json");
  try {
    const facts = await stat(older);
    if (facts.isFile() && facts.size > 0) return older;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) throw error;
  }
  return join(env["CLAUDE_CONFIG_DIR"] || env["HOME"] || homedir(), ".claude.json");
}

const maxFileBytes = 1024 * 1024;
const maxDepth = 64;

const mcpFileSchema = z.looseObject({ mcpServers: z.record(z.string(), z.unknown()).default({}) });
const decisionsSchema = z.looseObject({
  enableAllProjectMcpServers: z.boolean().optional(),
  enabledMcpjsonServers: z.array(z.string()).optional(),
  hasTrustDialogAccepted: z.boolean().optional(),
});
const projectsSchema = z.record(z.string(), decisionsSchema);

/**
 * MCP servers in a repository's `.mcp.json` on which the user has not decided open a dialog at the start. Earlier decisions are kept; the other
 * servers are disabled for this launch, which is the dialog's default. A repository's own settings count only if the person trusted it in
 * Claude Code (measured).
 * @returns the servers to disable
 */
export async function undecidedMcpServers(
  dir: string,
  stateDir: string,
  config: ClaudeConfig,
): Promise<readonly string[]> {
  const folders = [...ancestors(dir)];
  const files = await Promise.all(folders.map((folder) => readJson(join(folder, ".mcp.json"), mcpFileSchema)));
  const names = [...new Set(files.flatMap((file) => Object.keys(file?.mcpServers ?? {})))];
  if (names.length === 0) return [];
  const known = projectsSchema.safeParse(config["projects"]).data ?? {};
  const projects = folders.map((folder) => known[folder] ?? null);
  const isTrusted = projects.some((project) => project?.hasTrustDialogAccepted === true);
  const settings = [
    join(stateDir, "settings.json"),
    ...folders.map((folder) => join(folder, ".claude", "settings.local.json")),
    ...(isTrusted ? folders.map((folder) => join(folder, ".claude", "settings.json")) : []),
  ];
  const decisions = [...projects, ...(await Promise.all(settings.map((path) => readJson(path, decisionsSchema))))];
  return names.filter(
    (name) =>
      !decisions.some(
        (decision) => decision?.enableAllProjectMcpServers || decision?.enabledMcpjsonServers?.includes(name) === true,
      ),
  );
}

function* ancestors(dir: string): Generator<string> {
  let folder = dir;
  for (let depth = 0; depth < maxDepth; depth += 1) {
    yield folder;
    const parent = dirname(folder);
    if (parent === folder) return;
    folder = parent;
  }
}

/** Null for a file that is missing, too large or invalid, which Claude Code itself reports. */
async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | null> {
  try {
    const text = await readSmallFile(path, maxFileBytes);
    return text instanceof Buffer ? (schema.safeParse(JSON.parse(text.toString("utf8"))).data ?? null) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
