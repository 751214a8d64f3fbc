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
/** What Claude Code keeps in its `.claude.json`. */
export type ClaudeConfig = z.infer<typeof configSchema>;

// Claude Code itself takes a folder `<file>.lock` while it writes (the proper-lockfile convention: ten seconds without an update
// of its time make it stale, and one is left behind by every short command).
const staleLockMs = 10_000;
const lockWaitMs = 3_000;
const lockPollMs = 20;
const maxAttempts = 20;
/** Claude Code keeps pasted text in it: some have tens of megabytes. */
const maxConfigBytes = 64 * 1024 * 1024;
const writers = createKeyedLock();

/**
 * Changes Claude Code's own state file: read again under its lock right before the write, merged by `change`, put in place at once.
 * Nothing is written when `change` changes nothing. A link stays a link; a file that is no JSON object is left as it is.
 *
 * @throws PosternError `agent_start_failed` when the file cannot be read as a JSON object
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
    throw agentError("agent_start_failed", `Cannot prepare claude-code: ${path} is being written without a pause.`);
  });
}

/** @returns false when the file was written between our look and our write: Claude Code itself does so without its lock at times */
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

/** Differs whenever the file was written or replaced; null when there is none. */
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
 * The state file as it is now; empty when there is none.
 * @throws PosternError `agent_start_failed` when the file cannot be read as a JSON object
 */
export async function readClaudeConfig(path: string): Promise<ClaudeConfig> {
  return (await readConfig(path)).config;
}

interface ReadConfig {
  readonly config: ClaudeConfig;
  /** The file behind a link. */
  readonly target: string;
  readonly mode: number;
  /** As it was before the content was read. */
  readonly state: string | null;
}

async function readConfig(path: string): Promise<ReadConfig> {
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
      `Cannot prepare claude-code: ${path} is not a JSON object, and Postern does not touch a file that it cannot read. Repair it by starting \`claude\` once.`,
    );
  }
  return { config: parsed.data, target, mode, state };
}

function parseJson(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told by the caller, with the path
  }
}

/** After the wait the write goes on without the lock: it replaces the file at once, and the window is one read long. */
async function lock(path: string): Promise<() => Promise<void>> {
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    try {
      await mkdir(path);
      return () => rmdir(path).catch(() => undefined); // taken over as stale by somebody: theirs now
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    const age = await lockAge(path);
    if (age !== null && age > staleLockMs)
      await rmdir(path).catch(() => undefined); // somebody else was faster
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

/** What keeps Claude Code from calling home and from updating itself under a running session. */
export const quiet: Environment = {
  DISABLE_TELEMETRY: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
};

/** The variables that the environment leaves open. */
export function unlessSet(defaults: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => env[name] === undefined));
}

/** Claude Code's state folder. */
export function configDir(env: Environment): string {
  return env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
}

/** Claude Code's own rule: an older `.config.json` in its folder goes before `.claude.json`. */
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
 * The servers that a repository's `.mcp.json` brings open a dialog at the start until somebody has decided on them. What the person
 * decided before stands; the others get the dialog's own default for this launch, which is to go on without them. A
 * repository's own settings decide only where the person once trusted it in Claude Code itself (its rule, measured).
 *
 * @returns the names to be disabled
 */
export async function undecidedMcpServers(
  dir: string,
  configDir: string,
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
    join(configDir, "settings.json"),
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

/** Null for a file that is missing, too large, or in another form: Claude Code judges it by itself. */
async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | null> {
  try {
    const text = await readSmallFile(path, maxFileBytes);
    return text instanceof Buffer ? (schema.safeParse(JSON.parse(text.toString("utf8"))).data ?? null) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
