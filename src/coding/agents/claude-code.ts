import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { runCommand } from "../../platform/run-command.ts";
import type { PermissionMode } from "../../wire/coding.ts";
import { type ClaudeConfig, changeClaudeConfig, readClaudeConfig } from "./claude-config.ts";
import { undecidedMcpServers } from "./claude-mcp.ts";
import { liveClaudeState, liveClaudeStates } from "./claude-state.ts";
import { findInProjectFolders } from "./find-transcript.ts";
import { type HookPayload, parsePayload, sharedEvent, textField, toolCall } from "./hook-payload.ts";
import type { AgentTemplate, Environment, HookEvent, LaunchPlan, LaunchRequest, LoginState } from "./template.ts";

const modes = { ask: "manual", edits: "acceptEdits", all: "bypassPermissions" } satisfies Record<
  PermissionMode,
  string
>;

/**
 * What is asked of the agent's hooks: no more than a session's state needs, for each costs the start of a process.
 * PreToolUse comes before PermissionRequest and says nothing more; Notification is wanted for `idle_prompt` alone, which is
 * all that is heard after Esc.
 */
const hookEvents: readonly (readonly [event: string, matcher?: string])[] = [
  ["SessionStart"],
  ["UserPromptSubmit"],
  ["PermissionRequest"],
  ["PostToolUse"],
  ["PostToolUseFailure"],
  ["Notification", "idle_prompt"],
  ["Stop"],
  ["StopFailure"],
  ["SessionEnd"],
];
const hookTimeoutSeconds = 10;
const statusTimeoutMs = 10_000;

const quiet: Environment = {
  DISABLE_TELEMETRY: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
};

// Shorter than any paste that was seen wrapped.
const longestExactPaste = 200;

/** Claude Code, as measured with 2.1.329. */
export const claudeCode: AgentTemplate = {
  name: "claude-code",
  aliases: ["agent_a", "claude"],
  displayName: "Claude Code",
  binaryName: "claude",
  npmPackage: "@anthropic-ai/claude-code",
  keyVariables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
  nestingVariables: [
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_EFFORT",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_*",
    "CLAUDE_CODE_CHILD_*",
    "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
    "CLAUDE_CODE_MESSAGING_*",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TOOL_USE_ID",
    "AI_AGENT",
    // What {@link preempt} may have given to the agent around the gateway was for that agent.
    "CLAUDE_CODE_SANDBOXED",
  ],
  idRegime: "assigned",
  transcriptFormat: "claude",
  hasHooks: true,
  readyBy: "session_start",
  commandPrefixes: ["/", "!"],
  // Each of them ends the agent.
  commandWords: ["exit", "quit", ":q", ":q!", ":wq", ":wq!"],
  accepts: { model: true, systemPrompt: true, prompt: true },
  // A paste that is long or has several lines reaches the model wrapped in <pasted_content>, with a warning that it may not be the
  // user's own words, and tabs become spaces (measured).
  paste: {
    bracketed: true,
    enterDelayMs: 150,
    suffix: " ",
    isExact: (text) => text.length <= longestExactPaste && !/[\n\t]/.test(text),
    editorKey: "\x07",
  },
  interruptKeys: "\x1b",
  loginArgs: ["auth", "login"],
  plan,
  parseHook: (payload) => parsePayload(payload, toEvent),
  composerPainted,
  transcriptRoots: (env) => [join(configDir(env), "projects")],
  findTranscript: (agentSessionId, env) => findInProjectFolders(join(configDir(env), "projects"), agentSessionId),
  // The id was assigned: there is nothing to find out.
  discoverSessionId: async ({ pid, env }) => (await liveClaudeState(sessionsDir(env), pid))?.sessionId ?? null,
  async externalHolder(agentSessionId, env) {
    const states = await liveClaudeStates(sessionsDir(env));
    const holder = states.find((state) => state.sessionId === agentSessionId);
    return holder === undefined ? null : { pid: holder.pid };
  },
  async liveState(agentSessionId, { pid, env }) {
    const state = await liveClaudeState(sessionsDir(env), pid);
    if (state === null || state.sessionId !== agentSessionId) return null;
    if (state.status === "busy") return "working";
    return state.status === "idle" || state.status === "waiting" ? state.status : null;
  },
  loginState,
};

function configDir(env: Environment): string {
  return env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
}

function sessionsDir(env: Environment): string {
  return join(configDir(env), "sessions");
}

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  const settingsFile = join(request.launchDir, "settings.json");
  await writeFileAtomic(settingsFile, JSON.stringify(await settings(request)));
  const argv: [string, ...string[]] = [
    request.binary,
    request.kind === "start" ? "--session-id" : "--resume",
    request.sessionId,
    "--settings",
    settingsFile,
    "--permission-mode",
    modes[request.permissionMode],
  ];
  // With "=", so that no value is ever read as a flag.
  if (request.model !== null) argv.push(`--model=${request.model}`);
  if (request.systemPrompt !== null) {
    const promptFile = join(request.launchDir, "system-prompt.txt");
    await writeFileAtomic(promptFile, request.systemPrompt);
    argv.push("--append-system-prompt-file", promptFile);
  }
  if (request.prompt !== null) argv.push("--", request.prompt);
  return { argv, env: { ...unlessSet(quiet, request.env), ...(await preempt(request)) } };
}

async function settings({ permissionMode, hookCommand, trustDir, dir, env }: LaunchRequest): Promise<unknown> {
  const config = await readClaudeConfig(await configPath(env));
  const hook = { type: "command", command: hookCommand, timeout: hookTimeoutSeconds };
  return {
    hooks: Object.fromEntries(
      hookEvents.map(([event, matcher]) => [event, [{ ...(matcher === undefined ? {} : { matcher }), hooks: [hook] }]]),
    ),
    ...(trustDir ? { disabledMcpjsonServers: await undecidedMcpServers(dir, configDir(env), config) } : {}),
    ...(permissionMode === "all" ? { skipDangerousModePermissionPrompt: true } : {}),
  };
}

function unlessSet(defaults: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => env[name] === undefined));
}

/** Answers the first-run dialogs: on disk only what has no flag and no variable. Returns the variables. */
async function preempt(request: LaunchRequest): Promise<Environment> {
  const path = await configPath(request.env);
  const variables: Record<string, string> = {};
  // Trust for this launch alone: it leaves with the process, as the registration of a folder can be taken back. It opens the
  // folder and runs the repository's hooks, but does not let the repository's settings allow themselves commands (measured).
  if (request.trustDir) variables["CLAUDE_CODE_SANDBOXED"] = "1";
  // Without it the agent refuses its most permissive mode as root; the caller has asked for that mode.
  if (request.permissionMode === "all" && process.getuid?.() === 0) variables["IS_SANDBOX"] = "1";
  const key = await keyDecision(path, request);
  if (key === "keep_login") variables["ANTHROPIC_API_KEY"] = "";
  await changeClaudeConfig(path, (config) => ({
    ...config,
    hasCompletedOnboarding: true,
    hasSeenAutoDefaultNotice: true,
    ...(key === "approve" ? { customApiKeyResponses: approved(config, keyTail(request.env)) } : {}),
  }));
  return variables;
}

/** Claude Code's own rule: an older `.config.json` in its folder goes before `.claude.json`. */
async function configPath(env: Environment): Promise<string> {
  const older = join(configDir(env), ".config.json");
  try {
    const facts = await stat(older);
    if (facts.isFile() && facts.size > 0) return older;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) throw error;
  }
  return join(env["CLAUDE_CONFIG_DIR"] || env["HOME"] || homedir(), ".claude.json");
}

const keyResponsesSchema = z.looseObject({
  approved: z.array(z.string()).default([]),
  rejected: z.array(z.string()).default([]),
});

function keyResponses(config: ClaudeConfig): z.infer<typeof keyResponsesSchema> {
  return keyResponsesSchema.safeParse(config["customApiKeyResponses"]).data ?? { approved: [], rejected: [] };
}

function approved(config: ClaudeConfig, tail: string): unknown {
  const responses = keyResponses(config);
  return { ...responses, approved: [...responses.approved.filter((known) => known !== tail), tail] };
}

/** Claude Code remembers a key by its last 20 characters. */
function keyTail(env: Environment): string {
  return (env["ANTHROPIC_API_KEY"] ?? "").slice(-20);
}

/**
 * What to do about "use this API key?": nothing when there is no key or the person has answered before; keep a log-in that is
 * there; else the key is the log-in.
 */
async function keyDecision(path: string, request: LaunchRequest): Promise<"nothing" | "keep_login" | "approve"> {
  const tail = keyTail(request.env);
  if (tail === "") return "nothing";
  const config = await readClaudeConfig(path);
  const responses = keyResponses(config);
  if (responses.approved.includes(tail) || responses.rejected.includes(tail)) return "nothing";
  if (config["oauthAccount"] !== undefined) return "keep_login";
  const { ANTHROPIC_API_KEY: _key, ...withoutKey } = request.env;
  const status = await authStatus(request.binary, withoutKey);
  return status?.loggedIn === true ? "keep_login" : "approve";
}

const authStatusSchema = z.looseObject({ loggedIn: z.boolean(), authMethod: z.string().optional() });

async function authStatus(binary: string, env: Environment): Promise<z.infer<typeof authStatusSchema> | null> {
  const { stdout } = await runCommand([binary, "auth", "status"], {
    env: { ...env, ...unlessSet(quiet, env) },
    timeoutMs: statusTimeoutMs,
  });
  try {
    return authStatusSchema.safeParse(JSON.parse(stdout)).data ?? null;
  } catch {
    return null; // an older version, or it could not run: unknown
  }
}

async function loginState(binary: string, env: Environment): Promise<LoginState> {
  const hasKey = claudeCode.keyVariables.some((name) => Boolean(env[name]));
  const keyless = Object.fromEntries(Object.entries(env).filter(([name]) => !claudeCode.keyVariables.includes(name)));
  const status = await authStatus(binary, keyless);
  if (status?.loggedIn === true) return "logged_in";
  if (hasKey) return "key_variable";
  return status === null ? "unknown" : "logged_out";
}

function toEvent(payload: HookPayload): HookEvent | null {
  switch (payload.hook_event_name) {
    case "PostToolUseFailure":
      return { kind: "tool_ended", ...toolCall(payload) };
    case "Notification":
      return textField(payload, "notification_type") === "idle_prompt" ? { kind: "waiting_for_input" } : null;
    case "StopFailure":
      return payload.agent_id ? null : turnFailed(payload);
    default:
      return sharedEvent(payload);
  }
}

const loginErrors = ["authentication_failed", "oauth_org_not_allowed", "verification_required"];
const limitErrors = ["rate_limit", "billing_error", "account_on_hold"];

/** `error` is a code of a closed list, the message is what the person sees on the screen (measured). */
function turnFailed(payload: HookPayload): HookEvent {
  const code = textField(payload, "error");
  const message = textField(payload, "last_assistant_message") || code;
  if (loginErrors.includes(code)) return { kind: "turn_failed", message, needs: "login" };
  if (limitErrors.includes(code)) return { kind: "turn_failed", message, needs: "limit_reset" };
  return { kind: "turn_failed", message };
}

/** The prompt sign at the beginning of a line between two rules; a dialog's choices are indented, and past prompts have no rules. */
function composerPainted(lines: readonly string[]): boolean {
  const isRule = (line: string | undefined): boolean => /^─{8,}/.test(line ?? "");
  return lines.some(
    (line, row) => /^❯(?:\s|$)/.test(line) && isRule(lines[row - 1]) && lines.slice(row + 1).some(isRule),
  );
}
