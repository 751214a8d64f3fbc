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

/** As much of `config.toml` as a start needs. */
export interface CodexConfig {
  /** Whether the person chose a provider or a place for the log-in: then nothing is added. */
  readonly choosesProvider: boolean;
  /** Where they said the vendor's API is. */
  readonly openAiUrl: string | null;
  readonly developerInstructions: string | null;
}

const maxConfigBytes = 1024 * 1024;

/** Reads `config.toml`; one that does not parse is the person's to repair, and Codex says so on its screen. */
export async function readCodexConfig(home: string): Promise<CodexConfig> {
  const path = join(home, "config.toml");
  const config = await parsedConfig(path);
  if (config === null) {
    const choosesProvider = await exists(path); // not readable: keep what it may say
    return { choosesProvider, openAiUrl: null, developerInstructions: null };
  }
  const store = config["cli_auth_credentials_store"];
  const provider = config["model_provider"];
  return {
    choosesProvider:
      (provider !== undefined && provider !== "openai") || // the built-in one needs a log-in, and there is none
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
    return null; // no TOML
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The variables that Codex knows as API keys, the first one set is taken. */
export const codexKeyVariables = ["OPENAI_API_KEY", "CODEX_API_KEY"] as const;

const openAiUrl = "https://api.openai.com/v1";

/**
 * Codex's terminal reads no key variable by itself (measured). When one is set, nobody is logged in and no provider is chosen, a
 * provider for this launch alone makes the key work: nothing is written, nothing replaced.
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

/** A TOML basic string. JSON's escapes are TOML's, but for DEL, which TOML wants escaped, and half surrogates, which it does not know. */
export function tomlString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007F");
}

/** A TOML inline table; the values are TOML already. */
export function tomlTable(entries: readonly (readonly [key: string, value: string])[]): string {
  return `{${entries.map(([key, value]) => `${tomlString(key)}=${value}`).join(",")}}`;
}

/** What is asked of Codex's hooks; there is none after Esc or an API error, which the transcript tells. */
const hookEvents = ["SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "SessionEnd"];
const hookTimeoutSeconds = 10;
const listTimeoutMs = 15_000;
const maxAnswerBytes = 4 * 1024 * 1024;
const maxCached = 100;

/** The command that Codex calls, and how long it may take when it is asked for a permission. */
export interface CodexHook {
  readonly command: string;
  readonly permissionTimeoutMs: number;
}

/** The hooks of one session as `-c` arguments. */
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
 * The arguments that give a session Postern's hooks and the trust for exactly these: Codex itself is asked for the hash of each
 * (about 0.4 s, once for each version of the program), so no hook of the user's becomes trusted by it.
 *
 * A Codex that does not tell gets no hooks: it runs and is read by its transcript, or shows on its own screen why it cannot start.
 *
 * @throws PosternError `agent_binary_missing`
 */
export async function trustedHookArguments(
  binary: string,
  hook: CodexHook,
  env: Environment,
): Promise<readonly string[]> {
  const { mtimeMs, size } = await stat(binary).catch((cause: unknown) => {
    throw agentError("agent_binary_missing", `Cannot start codex: ${binary} is gone.`, { cause });
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
  // A state folder of its own: the answer depends on the arguments alone, and the user's folder stays as it is.
  const home = await mkdtemp(join(tmpdir(), "postern-codex-"));
  try {
    const answer = answerSchema.parse(
      await callAppServer([binary, "app-server", ...hookArguments(hook)], { ...env, CODEX_HOME: home }, home),
    );
    const ours = answer.data
      .flatMap(({ hooks }) => hooks)
      .filter(({ source, command }) => source === "sessionFlags" && command === hook.command);
    if (ours.length !== hookEvents.length) throw new Error(`it knows ${ours.length} of ${hookEvents.length} hooks`);
    return `hooks.state=${tomlTable(ours.map(({ key, currentHash }) => [key, `{trusted_hash=${tomlString(currentHash)}}`]))}`;
  } catch {
    return null; // without hooks, as said above
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One `hooks/list` over the app server's standard input and output (JSON-RPC, a message a line). */
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
    return null; // a line of something else: the answer comes in a line of its own
  }
}
