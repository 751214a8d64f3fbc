import { spawn } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "smol-toml";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { createSingleFlight } from "../../core/single-flight.ts";
import { signalChildGroup } from "../../platform/processes.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import { agentError } from "../errors.ts";
import type { Environment } from "../template.ts";

/** The settings of `config.toml` that a start needs. */
interface CodexConfig {
  /** Whether the user chose a provider or credential store; then no provider is added. */
  readonly choosesProvider: boolean;
  /** The configured address of the vendor's API. */
  readonly openAiUrl: string | null;
  readonly developerInstructions: string | null;
}

const maxConfigBytes = 1024 * 1024;

/** Reads `config.toml`. If it is invalid, Codex reports that on its screen. */
export async function readCodexConfig(home: string): Promise<CodexConfig> {
  const path = join(home, "config.toml");
  const config = await parsedConfig(path);
  if (config === null) {
    const choosesProvider = await exists(path); // if the file is unreadable, it may choose a provider
    return { choosesProvider, openAiUrl: null, developerInstructions: null };
  }
  const store = config["cli_auth_credentials_store"];
  const provider = config["model_provider"];
  return {
    choosesProvider:
      (provider !== undefined && provider !== "openai") || // the built-in provider needs a login, and there is none
      config["profile"] !== undefined ||
      config["oss_provider"] !== undefined ||
      (store !== undefined && store !== "file"),
    openAiUrl: textOf(config["openai_base_url"]),
    developerInstructions: textOf(config["developer_instructions"]),
  };
}

async function parsedConfig(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  const bytes = await readSmallFile(path, maxConfigBytes);
  try {
    return Buffer.isBuffer(bytes) ? parse(bytes.toString("utf8")) : null;
  } catch {
    return null; // not TOML
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Codex's API key variables; the first one that is set is used. */
export const codexKeyVariables = ["OPENAI_API_KEY", "CODEX_API_KEY"] as const;

const openAiUrl = "https://api.openai.com/v1";

/**
 * Codex in a terminal ignores key variables (measured). If one is set, without a login or a chosen provider, a provider added for this launch makes
 * it work without writing anything.
 */
export async function keyProviderArguments(
  home: string,
  config: CodexConfig,
  env: Environment,
): Promise<readonly string[]> {
  const variable = codexKeyVariables.find((name) => Boolean(env[name]));
  if (variable === undefined || config.choosesProvider || (await exists(join(home, "auth.json")))) return [];
  const provider = [
    `name="OpenAI"`,
    `base_url=${tomlString(config.openAiUrl ?? (env["OPENAI_BASE_URL"] || openAiUrl))}`,
    `env_key=${tomlString(variable)}`,
    `wire_api="responses"`,
  ].join(",");
  return ["-c", `model_provider="openai-key"`, "-c", `model_providers.openai-key={${provider}}`];
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    return !isErrno(error, "ENOENT", "ENOTDIR");
  }
}

/** Formats a TOML basic string: with JSON's escapes, DEL escaped too, and without lone surrogates. */
export function tomlString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007F");
}

/** A TOML inline table of TOML values. */
export function tomlTable(entries: readonly (readonly [key: string, value: string])[]): string {
  return `{${entries.map(([key, value]) => `${tomlString(key)}=${value}`).join(",")}}`;
}

/** No hook runs after Esc or an API error; the transcript records both. */
const hookEvents = ["SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "SessionEnd"];
const hookTimeoutSeconds = 10;
const listTimeoutMs = 15_000;
const maxAnswerBytes = 4 * 1024 * 1024;
const maxCached = 100;

/** The hook command, and how long it may wait for a permission. */
export interface CodexHook {
  readonly command: string;
  readonly permissionTimeoutMs: number;
}

/** A session's hooks as `-c` arguments. */
function hookArguments({ command, permissionTimeoutMs }: CodexHook): readonly string[] {
  return hookEvents.flatMap((event) => {
    const timeout = event === "PermissionRequest" ? Math.ceil(permissionTimeoutMs / 1000) : hookTimeoutSeconds;
    const handler = `{type="command",command=${tomlString(command)},timeout=${timeout}}`;
    return ["-c", `hooks.${event}=[{hooks=[${handler}]}]`];
  });
}

const cache = new Map<string, string>();
const flights = createSingleFlight<string | null>();

/**
 * The arguments that set Postern's hooks and trust only them. Codex itself computes their hashes (about 0.4 s, once per version), so
 * none of the user's hooks becomes trusted. If Codex does not answer, the session has no hooks and is read from its transcript, or its
 * screen shows why it cannot start.
 * @throws PosternError `agent_binary_missing`
 */
export async function trustedHookArguments(
  binary: string,
  hook: CodexHook,
  env: Environment,
): Promise<readonly string[]> {
  const { mtimeMs, size } = await stat(binary).catch((cause: unknown) => {
    throw agentError(
      "agent_binary_missing",
      `Cannot start codex: ${binary} no longer exists. Install it, or run \`postern coding setup\`.`,
      { cause },
    );
  });
  const key = JSON.stringify([binary, mtimeMs, size, hook.command, hook.permissionTimeoutMs]);
  const trust = cache.get(key) ?? (await flights(key, () => askForTrust(binary, hook, env)));
  if (trust === null) return [];
  if (cache.size >= maxCached) cache.clear();
  cache.set(key, trust);
  return [...hookArguments(hook), "-c", trust];
}

const answerSchema = z.looseObject({
  data: z.array(
    z.looseObject({
      hooks: z.array(
        z.looseObject({ key: z.string(), source: z.string(), command: z.string().nullish(), currentHash: z.string() }),
      ),
    }),
  ),
});

async function askForTrust(binary: string, hook: CodexHook, env: Environment): Promise<string | null> {
  // With its own state folder: the answer depends on the arguments alone, and the user's folder is not touched.
  const home = await mkdtemp(join(tmpdir(), "postern-codex-"));
  try {
    const answer = answerSchema.parse(
      await callAppServer([binary, "app-server", ...hookArguments(hook)], { ...env, CODEX_HOME: home }, home),
    );
    const ours = answer.data
      .flatMap(({ hooks }) => hooks)
      .filter(({ source, command }) => source === "sessionFlags" && command === hook.command);
    if (ours.length !== hookEvents.length) throw new Error(`it lists ${ours.length} of ${hookEvents.length} hooks`);
    return `hooks.state=${tomlTable(ours.map(({ key, currentHash }) => [key, `{trusted_hash=${tomlString(currentHash)}}`]))}`;
  } catch {
    return null; // no hooks, as described above
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One `hooks/list` request to the app server over stdin and stdout (JSON-RPC, one message per line). */
function callAppServer(argv: readonly [string, ...string[]], env: Environment, cwd: string): Promise<unknown> {
  const [program, ...args] = argv;
  const child = spawn(program, args, { env: { ...env }, cwd, stdio: ["pipe", "pipe", "ignore"], detached: true });
  return new Promise<unknown>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${listTimeoutMs} ms`)), listTimeoutMs);
    let readBytes = 0;
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    child.once("error", fail);
    child.once("exit", (code, signal) => fail(new Error(`ended with ${signal ?? code}`)));
    child.stdin.on("error", fail);
    createInterface({ input: child.stdout }).on("line", (line) => {
      readBytes += line.length;
      if (readBytes > maxAnswerBytes) return fail(new Error("the answer is too long"));
      const message = messageSchema.safeParse(parseLine(line)).data;
      if (message?.id !== 2) return;
      clearTimeout(timer);
      if (message.result === undefined) reject(new Error(`hooks/list failed: ${line.slice(0, 500)}`));
      else resolve(message.result);
    });
    const requests = [
      { id: 1, method: "initialize", params: { clientInfo: { name: "postern", version: "1" } } },
      { method: "initialized" },
      { id: 2, method: "hooks/list", params: { cwds: [cwd] } },
    ];
    child.stdin.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
  }).finally(() => signalChildGroup(child, "SIGKILL"));
}

const messageSchema = z.looseObject({ id: z.unknown(), result: z.unknown().optional() });

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // a different message: the answer is on another line
  }
}
