import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { AgentTemplate } from "../../src/agents/template.ts";
import { type App, createApp } from "../../src/app/app.ts";
import { loadConfig } from "../../src/app/config.ts";
import { systemClock } from "../../src/core/clock.ts";
import { isErrno } from "../../src/core/errors.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import { processRow } from "../../src/platform/process-table.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import { type Scope, scopes } from "../../src/wire/access.ts";
import type { AskInput, AskOutput, ReadInput, ReadOutput } from "../../src/wire/coding.ts";
import { installAgents } from "../../tools/install-agents.ts";
import { type ModelServer, type ModelServerOptions, startModelServer } from "../model-server/model-server.ts";
import { scriptedAgent, scriptedBinDir } from "../scripted-agent/scripted-agent.ts";
import { agentEngine } from "./agent-engine.ts";
import { sharedCompileCache } from "./compile-cache.ts";
import { errorCode } from "./error-code.ts";
import { makeTestFolder } from "./test-folder.ts";

const run = promisify(execFile);

/** Everything one gateway needs, in a temporary folder: state, both agents' state, a git repository, a model server. */
export interface World {
  readonly root: string;
  readonly home: string;
  /** A git repository with one commit. */
  readonly repository: string;
  readonly modelServer: ModelServer;
  /** The gateway's environment: only PATH is taken from this machine. */
  readonly env: Readonly<Record<string, string>>;
  /** Agents of its gateways besides the built-in ones. */
  readonly furtherAgents: readonly AgentTemplate[];
  /** Stops the model server, ends what still runs with this home, and removes the folder. */
  close(): Promise<void>;
}

/** The agents on a world's PATH: Claude Code and Codex, one kind alone, or one at another version. */
type WorldAgents = boolean | "gemini" | "opencode" | "scripted" | { readonly agent: string; readonly binDir: string };

/** @param options `agents` go on PATH, `config` goes into the config file, `reply` answers for the model */
export async function createWorld(options: {
  readonly agents: WorldAgents;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly reply?: ModelServerOptions["reply"];
}): Promise<World> {
  const root = makeTestFolder("world");
  const home = join(root, "home");
  const repository = join(root, "project");
  const claudeDir = join(root, "claude");
  const codexDir = join(root, "codex");
  for (const folder of [home, repository, claudeDir, codexDir]) await mkdir(folder, { mode: 0o700 });
  await writeFile(join(home, "config.json"), JSON.stringify({ port: 0, host: "127.0.0.1", ...options.config }));
  await mkdir(join(home, "terminal-host"), { mode: 0o700 });
  await symlink(sharedCompileCache(), join(home, "terminal-host", "compile-cache"));
  await makeRepository(repository);
  const modelServer = await startModelServer(options.reply === undefined ? {} : { reply: options.reply });
  const agentDirs = await binDirsOf(options.agents);
  const path = [...agentDirs, process.env["PATH"] ?? ""].join(":");
  return {
    root,
    home,
    repository,
    modelServer,
    env: {
      PATH: path,
      HOME: root,
      LANG: "C.UTF-8",
      NODE_COMPILE_CACHE: sharedCompileCache(),
      POSTERN_HOME: home,
      POSTERN_LOG_LEVEL: "silent",
      ...(isOpenCode(options.agents) ? {} : agentEngine),
      CLAUDE_CONFIG_DIR: claudeDir,
      ANTHROPIC_BASE_URL: modelServer.url,
      ANTHROPIC_API_KEY: "sk-scripted-anthropic-0000000000000000",
      CODEX_HOME: codexDir,
      OPENAI_BASE_URL: `${modelServer.url}/v1`,
      OPENAI_API_KEY: "sk-scripted-openai-0000000000000000",
      GOOGLE_GEMINI_BASE_URL: modelServer.url,
      GEMINI_API_KEY: "sk-scripted-gemini-0000000000000000",
      SCRIPTED_HOME: join(root, "scripted"),
      SCRIPTED_MODEL_URL: modelServer.url,
      ...options.env,
    },
    furtherAgents: options.agents === "scripted" ? [scriptedAgent] : [],
    async close() {
      await endTerminalHost(home);
      await modelServer.close();
      await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

function isOpenCode(agents: WorldAgents): boolean {
  return (typeof agents === "object" ? agents.agent : agents) === "opencode";
}

async function binDirsOf(agents: WorldAgents): Promise<readonly string[]> {
  if (agents === false) return [];
  if (agents === "scripted") return [scriptedBinDir];
  if (typeof agents === "object") return [agents.binDir];
  const { binDir, furtherBinDir, openCodeBinDir } = await installAgents(() => undefined);
  if (agents === "opencode") return [openCodeBinDir];
  return [agents === "gemini" ? furtherBinDir : binDir];
}

/** Ends every terminal of this state folder and its host, as Postern never does on its own. */
export async function endTerminalHost(home: string): Promise<void> {
  const socketPath = join(home, "run", "host.sock");
  if (!existsSync(socketPath)) return;
  const client = await connectTerminalHost({
    socketPath,
    stateDir: join(home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
  for (const { terminalId, exit } of await client.list()) {
    if (exit === null) await client.end(terminalId, { graceMs: 500 });
  }
  const host = client.host();
  await client.close();
  if (host !== null) await killAndWait(host.pid);
}

/** Kills a process that the test started, and waits until it has ended. */
export async function killAndWait(pid: number | null | undefined, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  // To 0 it would go to this process's own group.
  if (pid === null || pid === undefined || pid <= 1) throw new Error("There is no process to kill.");
  try {
    process.kill(pid, signal);
    while (processRow(pid) !== undefined && processRow(pid)?.zombie !== true) await sleep(10);
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
}

async function makeRepository(dir: string): Promise<void> {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  await writeFile(join(dir, "README.md"), "# Scratch\n");
  await run("git", ["init", "--quiet", "--initial-branch=main", dir]);
  await run("git", ["-C", dir, "add", "README.md"]);
  await run("git", ["-C", dir, ...identity, "commit", "--quiet", "--message=Begin"]);
}

/** An answer of the gateway. */
export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** Calls the gateway as a client would. */
export interface ApiClient {
  post<T = Record<string, unknown>>(path: string, body: unknown): Promise<Answer<T>>;
  get<T = Record<string, unknown>>(path: string): Promise<Answer<T>>;
  put<T = Record<string, unknown>>(path: string, body: unknown): Promise<Answer<T>>;
  patch<T = Record<string, unknown>>(path: string, body: unknown): Promise<Answer<T>>;
  delete<T = Record<string, unknown>>(path: string): Promise<Answer<T>>;
  /** `POST /api/coding/coding_ask`, which must be answered with 200. */
  ask(input: AskInput): Promise<AskOutput>;
  /** `POST /api/coding/coding_read_session`, which must be answered with 200. */
  read(sessionId: string, input?: Omit<ReadInput, "sessionId">): Promise<ReadOutput>;
}

/** @param token null sends none */
export function createApiClient(baseUrl: string, token: string | null): ApiClient {
  async function send<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  }
  async function call<T>(tool: string, input: unknown): Promise<T> {
    const { status, body } = await send<T>("POST", `/api/coding/${tool}`, input);
    if (status !== 200) throw new Error(`${tool} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }
  return {
    post: (path, body) => send("POST", path, body),
    get: (path) => send("GET", path),
    put: (path, body) => send("PUT", path, body),
    patch: (path, body) => send("PATCH", path, body),
    delete: (path) => send("DELETE", path),
    ask: (input) => call("coding_ask", input),
    read: (sessionId, input = {}) => call("coding_read_session", { sessionId, ...input }),
  };
}

/** Shows a gateway's warnings with the failing test. */
const troubleLog: Log = {
  ...silentLog,
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

/** A gateway in this process. */
export interface TestGateway {
  readonly app: App;
  readonly url: string;
  /** Of a token that holds every scope but `admin`. */
  readonly api: ApiClient;
  readonly token: string;
  client(scopes: readonly Scope[]): Promise<ApiClient>;
  /** A new token of the owner. */
  tokenFor(scopes: readonly Scope[]): Promise<string>;
  close(): Promise<void>;
}

/** Does not list the agents: that would start each of them to ask for its version and login. */
async function configureWhenFound({ agents }: App, name: string): Promise<void> {
  const problem = await errorCode(agents.resolve(name));
  if (problem !== "agent_not_configured") return;
  const refused = await errorCode(agents.configure(name));
  if (refused !== null && refused !== "agent_binary_missing") throw new Error(`${name} is not configured: ${refused}`);
}

/** Starts a gateway on this world's state, which gateways started later share. Configures the agents that are found. */
export async function startGateway(world: World, log: Log = troubleLog): Promise<TestGateway> {
  const app = await createApp(loadConfig(world.env), log, { furtherAgents: world.furtherAgents });
  for (const { name } of app.agents.templates) await configureWhenFound(app, name);
  const [url = ""] = app.addresses;
  async function tokenFor(granted: readonly Scope[]): Promise<string> {
    const { accountId } = await app.accounts.owner();
    const { token } = await app.accounts.tokens.create(accountId, {
      name: "test",
      scopes: granted,
      folders: null,
      expiresAt: null,
    });
    return token;
  }
  const token = await tokenFor(scopes.filter((scope) => scope !== "admin"));
  return {
    app,
    url,
    client: async (granted) => createApiClient(url, await tokenFor(granted)),
    tokenFor,
    api: createApiClient(url, token),
    token,
    close: () => app.close(),
  };
}
