import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../platform/files.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { PermissionMode } from "../../wire/coding.ts";
import { createHolderMemory } from "../agent-processes.ts";
import { findInProjectFolders, uuidFile } from "../find-transcript.ts";
import { type HookPayload, parsePayload, sharedEvent, textField, toolCall } from "../hook-payload.ts";
import { clearRows, type DialogForm, readDialog, typedText } from "../screen-dialog.ts";
import type { AgentTemplate, Environment, HookEvent, LaunchPlan, LaunchRequest } from "../template.ts";
import { claudeAction } from "./claude-actions.ts";
import { claudeCommands } from "./claude-commands.ts";
import { configDir, configPath, quiet, readClaudeConfig, undecidedMcpServers, unlessSet } from "./claude-config.ts";
import { claudeNeeds } from "./claude-lines.ts";
import { answerFirstRunDialogs, claudeKeyVariables, loginState } from "./claude-login.ts";
import { claudeActivity, claudeSessions, liveClaudeState } from "./claude-state.ts";

const modes = { ask: "manual", edits: "acceptEdits", all: "bypassPermissions" } satisfies Record<
  PermissionMode,
  string
>;

/**
 * Only the events that a session's state needs: each hook starts Node, and the agent waits for it. PreToolUse runs before PermissionRequest and
 * adds nothing; Notification comes 6 s after a question and 60 s after a Stop, and never after Esc.
 */
const hookEvents = [
  "SessionStart",
  "UserPromptSubmit",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "Stop",
  "StopFailure",
  "SessionEnd",
];
const hookTimeoutSeconds = 10;
// Shorter than any paste that Claude Code wrapped in <pasted_content>.
const longestExactPaste = 200;

/** Claude Code, as measured with 2.1.329. */
export const claudeCode: AgentTemplate = {
  name: "claude-code",
  aliases: ["agent_a"],
  displayName: "Claude Code",
  binaryName: "claude",
  releases: {
    npmPackage: "@anthropic-ai/claude-code",
    minimum: "2.1.200",
    newestTested: "2.1.332",
    updateCommand: "npm install -g @anthropic-ai/claude-code@latest",
  },
  keyVariables: claudeKeyVariables,
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
    // Set when the agent that started this gateway was launched, and meant only for that agent.
    "CLAUDE_CODE_SANDBOXED",
  ],
  idRegime: "assigned",
  transcriptFormat: "claude",
  hasHooks: true,
  readyBy: "session_start",
  commandPrefixes: ["/", "!"],
  // Each of these words ends the agent.
  commandWords: ["exit", "quit", ":q", ":q!", ":wq", ":wq!"],
  readsMentions: true,
  mention: (path) => (/[\s"]/.test(path) ? `@"${path}"` : `@${path}`),
  commands: claudeCommands,
  accepts: { model: true, systemPrompt: "file", prompt: true },
  // Longer pastes and those with several lines reach the model inside <pasted_content>, with a warning that they may not be the user's own
  // words; tabs become spaces (measured).
  paste: {
    bracketed: true,
    enterDelayMs: 150,
    suffix: " ",
    isExact: (text) => text.length <= longestExactPaste && !/[\n\t]/.test(text),
    editorKey: "\x07",
  },
  // A mention puts the file into the prompt, so the model receives an image's bytes (2.1.329, first and later prompts).
  attachments: { lineFor: (path) => (/^[\w./+-]+$/.test(path) ? `@${path}` : `@"${path}"`) },
  interruptKeys: "\x1b",
  exitKeys: ["\x04", "\x04"],
  loginArgs: ["auth", "login"],
  plan,
  toolAction: claudeAction,
  parseHook: (payload) => parsePayload(payload, toEvent),
  composerPainted: (lines) => composerRows(lines) !== null,
  composer: {
    text: ({ lines, bright }) => {
      const rows = composerRows(lines, bright ?? []);
      return bright === null || rows === null ? null : typedText(rows, /^❯/);
    },
    clearKeys: clearRows,
    pastedWord: /\[Pasted text #\d+[^\]]*\]\s*$/,
    mayHoldEnter: false,
    getsPromptBack: true,
  },
  readDialog: (lines) => readDialog(lines, dialogs),
  transcriptRoots: (env) => [join(configDir(env), "projects")],
  transcriptPlaces: (env) => [{ root: join(configDir(env), "projects"), names: [/./, uuidFile("", ["jsonl"])] }],
  findTranscript: (agentSessionId, env) => findInProjectFolders(join(configDir(env), "projects"), agentSessionId),
  canResume: hasMessages,
  discoverSessionId: async ({ pid, env }) => (await liveClaudeState(sessionsDir(env), pid))?.sessionId ?? null,
  async externalHolder(agentSessionId, env) {
    return (await claudeSessions(sessionsDir(env))).get(agentSessionId) ?? null;
  },
  externalSessions: (env) => recentSessions(sessionsDir(env)),
  async liveState(agentSessionId, { pid, env }) {
    const state = await liveClaudeState(sessionsDir(env), pid);
    const activity = state?.sessionId === agentSessionId ? claudeActivity(state) : null;
    return activity === null
      ? null
      : {
          activity,
          since: state?.statusUpdatedAt ?? null,
          hooked: state?.waitingFor !== "dialog open",
          inBackground: state?.status === "shell",
        };
  },
  liveStatePath: ({ pid, env }) => join(sessionsDir(env), `${pid}.json`),
  loginState,
};

/** As painted by 2.1.200, 2.1.250 and 2.1.329. */
const dialogs: DialogForm = {
  cursors: "❯",
  top: /^─{8,}/,
  known: [
    { title: "Trust this folder?", sign: /^ (?:Accessing workspace:|Do you trust the files in this folder\?)/ },
    { title: "Settings error", sign: /^ +Settings Error$/ },
    { title: "Allow imports from outside the folder?", sign: /^ +Allow external CLAUDE\.md file imports\?/ },
    { title: "Use the API key of the environment?", sign: /^ +Do you want to use this API key\?/ },
    { title: "Run without asking for permission?", sign: /^ +WARNING: Claude Code running in Bypass Permissions mode/ },
    { title: "Use the project's MCP servers?", sign: /^ +(?:New MCP server|\d+ new MCP servers) found in/ },
    {
      title: "Permission",
      sign: /^ +Do you want to (?!use this API key)\S/,
      decides: { allow: /^Yes$/, deny: /^No\b/ },
    },
  ],
};

const recentSessions = createHolderMemory(claudeSessions);

function sessionsDir(env: Environment): string {
  return join(configDir(env), "sessions");
}

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  const settingsFile = join(request.launchDir, "settings.json");
  await writeFileAtomic(settingsFile, JSON.stringify(await settings(request)), { durable: false });
  const argv: [string, ...string[]] = [
    request.binary,
    request.kind === "start" ? "--session-id" : "--resume",
    request.sessionId,
    "--settings",
    settingsFile,
    "--permission-mode",
    modes[request.permissionMode],
  ];
  // With "=", so that no value is read as a flag.
  if (request.model !== null) argv.push(`--model=${request.model}`);
  if (request.systemPrompt !== null) {
    const promptFile = join(request.launchDir, "system-prompt.txt");
    await writeFileAtomic(promptFile, request.systemPrompt, { durable: false });
    argv.push("--append-system-prompt-file", promptFile);
  }
  if (request.prompt !== null) argv.push("--", request.prompt);
  return { argv, env: { ...unlessSet(quiet, request.env), ...(await answerFirstRunDialogs(request)) } };
}

// Before the first prompt, an agent writes 1 KB (measured); a larger file contains more than metadata.
const maxMetadataBytes = 1024 * 1024;

/**
 * Whether a transcript holds a message. If the agent was killed before writing one, only metadata is there: `--resume` then ends with "No
 * conversation found", and `--session-id` with "already in use" (2.1.329).
 */
async function hasMessages(transcriptPath: string): Promise<boolean> {
  const text = await readSmallFile(transcriptPath, maxMetadataBytes);
  return !(text instanceof Buffer) || /"type":\s*"(?:user|assistant)"/.test(text.toString("utf8"));
}

async function settings(request: LaunchRequest): Promise<unknown> {
  const { permissionMode, hookCommand, permissionTimeoutMs, trustDir, dir, env } = request;
  const config = await readClaudeConfig(await configPath(env));
  const timeoutOf = (event: string): number =>
    event === "PermissionRequest" ? Math.ceil(permissionTimeoutMs / 1000) : hookTimeoutSeconds;
  const hookOf = (event: string): unknown => ({ type: "command", command: hookCommand, timeout: timeoutOf(event) });
  return {
    hooks: Object.fromEntries(hookEvents.map((event) => [event, [{ hooks: [hookOf(event)] }]])),
    ...(trustDir ? { disabledMcpjsonServers: await undecidedMcpServers(dir, configDir(env), config) } : {}),
    ...(permissionMode === "all" ? { skipDangerousModePermissionPrompt: true } : {}),
  };
}

/** Tools that ask the user for an answer in the same way as for a permission (measured). */
const askingTools: Readonly<Record<string, "question" | "plan">> = {
  AskUserQuestion: "question",
  ExitPlanMode: "plan",
};

function toEvent(payload: HookPayload): HookEvent | null {
  switch (payload.hook_event_name) {
    case "PermissionRequest": {
      const call = toolCall(payload);
      return { kind: "permission_asked", asks: askingTools[call.tool] ?? "permission", ...call };
    }
    case "PostToolUseFailure":
      return { kind: "tool_ended", ...toolCall(payload) };
    case "Stop": {
      const event = sharedEvent(payload);
      return event?.kind === "turn_ended" && runsSubagents(payload) ? { ...event, inBackground: true } : event;
    }
    case "StopFailure":
      return payload.agent_id ? null : turnFailed(payload);
    default:
      return sharedEvent(payload);
  }
}

const tasksSchema = z.array(z.looseObject({ type: z.string(), status: z.string() }));

/** Commands in the background continue without the agent; sub-agents do not. */
function runsSubagents(payload: HookPayload): boolean {
  const tasks = tasksSchema.safeParse(payload["background_tasks"]).data ?? [];
  return tasks.some(({ type, status }) => type === "subagent" && status === "running");
}

/** `error` is one of a fixed list of codes; the message is what the screen shows (measured). */
function turnFailed(payload: HookPayload): HookEvent {
  const code = textField(payload, "error");
  const message = textField(payload, "last_assistant_message") || code;
  const needs = claudeNeeds(code);
  return needs === undefined ? { kind: "turn_failed", message } : { kind: "turn_failed", message, needs };
}

/**
 * The rows of `from` (the same screen, in another form) between two horizontal rules, if the first row starts with the prompt sign. Choices of
 * dialogs are indented, and earlier prompts have no rules.
 */
function composerRows(lines: readonly string[], from = lines): readonly string[] | null {
  const isRule = (line: string | undefined): boolean => /^─{8,}/.test(line ?? "");
  for (const [row, line] of lines.entries()) {
    if (!/^❯(?:\s|$)/.test(line) || !isRule(lines[row - 1])) continue;
    const end = lines.findIndex((other, below) => below > row && isRule(other));
    if (end !== -1) return from.slice(row, end);
  }
  return null;
}
