import { readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeFileAtomic } from "../../platform/files.ts";
import { descendantsOf } from "../../platform/processes.ts";
import type { PermissionMode } from "../../wire/coding.ts";
import { agentProcesses, createHolderMemory, idIn, linkOf, optionsOf, variablesOf } from "../agent-processes.ts";
import { agentError } from "../errors.ts";
import { type HookPayload, parsePayload, sharedEvent, textField, toolCall } from "../hook-payload.ts";
import type { AgentTemplate, ExternalHolder, HookEvent, LaunchPlan, LaunchRequest } from "../template.ts";
import { openCodeCommands } from "./opencode-commands.ts";
import {
  launchConfig,
  openCodeData,
  openCodeDatabase,
  openCodeKeyVariables,
  openCodeLogin,
} from "./opencode-config.ts";
import { databaseName, sessionIn, sessionName } from "./opencode-database.ts";

/**
 * As by default, reading needs no permission; everything else does, including tools of MCP servers. Merged into the configured rules key by
 * key, of which the last match applies. So tools that the configuration allows by name must be set to ask by name.
 */
const asking = {
  "*": "ask",
  ...Object.fromEntries(
    ["edit", "bash", "webfetch", "websearch", "codesearch", "external_directory", "doom_loop"].map((tool) => [
      tool,
      "ask",
    ]),
  ),
  read: { "*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow" },
  ...Object.fromEntries(
    [
      "glob",
      "grep",
      "list",
      "lsp",
      "todowrite",
      "todoread",
      "task",
      "skill",
      "question",
      "plan_enter",
      "plan_exit",
    ].map((tool) => [tool, "allow"]),
  ),
};

/** Without rules, OpenCode never asks for permission. `all` keeps the user's denials. */
const rules = {
  ask: asking,
  edits: { ...asking, edit: "allow" },
  all: null,
} satisfies Record<PermissionMode, unknown>;

const plugin = new URL("./opencode-plugin.mjs", import.meta.url).href;
const keptQuiet = { OPENCODE_DISABLE_AUTOUPDATE: "1" };

/**
 * OpenCode, as measured with 1.18.33. It reports through a plugin, passed in an environment variable: the user's configuration is not
 * touched.
 */
export const openCode: AgentTemplate = {
  name: "opencode",
  aliases: [],
  displayName: "OpenCode",
  binaryName: "opencode",
  releases: {
    npmPackage: "opencode-ai",
    minimum: "1.17.0",
    newestTested: "1.18.33",
    updateCommand: "npm install -g opencode-ai@latest",
  },
  keyVariables: openCodeKeyVariables,
  nestingVariables: ["OPENCODE", "OPENCODE_PID", "OPENCODE_ROUTE", "OPENCODE_WORKSPACE_ID"],
  idRegime: "discovered",
  transcriptFormat: "opencode",
  hasHooks: true,
  readyBy: "composer",
  commandPrefixes: ["/", "!", "@"],
  // Each of these words ends the agent.
  commandWords: ["exit", "quit", ":q"],
  readsMentions: true,
  mention: (path) => `@${path}`,
  commands: openCodeCommands,
  // `--prompt` works only when a session is started; with it, no session is resumed.
  accepts: { model: true, systemPrompt: "file", prompt: false },
  // Without the suffix, Enter after a final `@word` selects from a list.
  paste: { bracketed: true, enterDelayMs: 150, suffix: " ", isExact: () => true, editorKey: null },
  // After the first key, the agent asks for a second one.
  interruptKeys: "\x1b[27u\x1b[27u",
  loginArgs: ["auth", "login"],
  plan,
  parseHook: (payload) => parsePayload(payload, toEvent),
  composerPainted,
  hasHung: ({ pid, env }) => isBeforeDatabase(pid, openCodeDatabase(env)),
  transcriptRoots: (env) => [openCodeData(env)],
  transcriptPlaces: (env) => [
    { root: openCodeData(env), names: [databaseName, /^(?<id>ses_[0-9A-Za-z]{1,80})$/], inDatabase: true },
  ],
  findTranscript: async (agentSessionId, env) =>
    sessionIn(openCodeDatabase(env), agentSessionId) === null ? null : join(openCodeDatabase(env), agentSessionId),
  // The plugin reports the id.
  discoverSessionId: async () => null,
  async externalHolder(agentSessionId, env) {
    return (await recentSessions(openCodeDatabase(env))).get(agentSessionId) ?? null;
  },
  externalSessions: (env) => recentSessions(openCodeDatabase(env)),
  liveState: async () => null,
  liveStatePath: () => null,
  loginState: async (_binary, env) => openCodeLogin(env),
};

const recentSessions = createHolderMemory(openCodeSessions);

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  const { binary, kind, sessionId, env, launchDir, permissionMode } = request;
  // With an unknown id, the agent would start another session at the next prompt.
  if (kind === "resume" && sessionIn(openCodeDatabase(env), sessionId) === null) {
    throw agentError(
      "agent_start_failed",
      `Cannot resume ${sessionId}: OpenCode has no such session in ${openCodeDatabase(env)}.`,
    );
  }
  const instructions: string[] = [];
  if (request.systemPrompt !== null) {
    const file = join(launchDir, "system-prompt.md");
    await writeFileAtomic(file, request.systemPrompt, { durable: false });
    instructions.push(file);
  }
  const argv: [string, ...string[]] = [
    binary,
    ...(kind === "resume" ? [`--session=${sessionId}`] : []),
    // With "=", so that no value is read as a flag.
    ...(request.model === null ? [] : [`--model=${request.model}`]),
    ...(permissionMode === "all" ? ["--auto"] : []),
  ];
  const config = launchConfig(env, { plugin, instructions, rules: rules[permissionMode] });
  return {
    argv,
    env: { ...keptQuiet, ...config, ...(kind === "resume" ? { POSTERN_OPENCODE_RESUMED: sessionId } : {}) },
  };
}

function toEvent(payload: HookPayload): HookEvent | null {
  if (payload.hook_event_name === "PermissionRequest" && textField(payload, "tool_name") === "question") {
    return { kind: "permission_asked", asks: "question", ...toolCall(payload) };
  }
  if (payload.hook_event_name !== "StopFailure") return sharedEvent(payload);
  const message = textField(payload, "last_assistant_message") || textField(payload, "error");
  return textField(payload, "error") === "ProviderAuthError"
    ? { kind: "turn_failed", message, needs: "login" }
    : { kind: "turn_failed", message };
}

/** The lower edge of the composer, below its line of agent and model; dialogs have neither. */
function composerPainted(lines: readonly string[]): boolean {
  const bottom = lines.findLastIndex((line) => /^\s*╹▀{8,}/.test(line));
  return bottom > 0 && /^\s*┃\s+\S.* · \S/.test(lines[bottom - 1] ?? "");
}

const program = /(?:^|\/)opencode$/;

/** The session in a program's arguments, if it is OpenCode; otherwise null. */
export function openCodeArguments(argv: readonly string[]): string | null {
  const options = optionsOf(argv, program);
  return options === null ? null : namedIn(options);
}

function namedIn(options: readonly string[]): string | null {
  return idIn(options, /^(?:--session|-s)(?:=(.*))?$/s, (value) => sessionName.test(value));
}

/**
 * Sessions of a database that occur in arguments of live processes (Linux): the agent records them in no file. Processes that a gateway started
 * are left out: it determines their current session itself.
 */
async function openCodeSessions(database: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const found = new Map<string, ExternalHolder>();
  for (const { row, options } of await agentProcesses("opencode", program)) {
    const named = namedIn(options);
    if (named === null) continue;
    const env = variablesOf(row.pid, ["HOME", "XDG_DATA_HOME", "OPENCODE_DB", "POSTERN_SESSION_INBOX"]);
    if (env["POSTERN_SESSION_INBOX"] || openCodeDatabase(env) !== database) continue;
    found.set(named, { pid: row.pid, activity: null });
  }
  return found;
}

/**
 * Whether neither this process nor a child has opened the database yet. Even a slow start opens it within seconds of CPU time. Always false except
 * on Linux.
 */
export function isBeforeDatabase(pid: number, database: string): boolean {
  try {
    const path = join(realpathSync(dirname(database)), basename(database));
    return ![pid, ...descendantsOf(pid).map((child) => child.pid)].some((one) => hasOpen(one, path));
  } catch {
    return false; // gone, without its folder yet, or not Linux
  }
}

function hasOpen(pid: number, path: string): boolean {
  const files = `/proc/${pid}/fd`;
  return readdirSync(files).some((file) => linkOf(`${files}/${file}`) === path);
}
