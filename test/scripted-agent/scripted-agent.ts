import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createHolderMemory } from "../../src/agents/agent-processes.ts";
import { claudeActivity, claudeSessions, liveClaudeState } from "../../src/agents/claude-code/claude-state.ts";
import { findInProjectFolders, uuidFile } from "../../src/agents/find-transcript.ts";
import { parsePayload, sharedEvent, textField, toolCall } from "../../src/agents/hook-payload.ts";
import { clearRows, type DialogForm, readDialog, typedText } from "../../src/agents/screen-dialog.ts";
import type { AgentTemplate, Environment, LaunchPlan, LaunchRequest } from "../../src/agents/template.ts";

/** A folder for PATH that holds the program alone. */
export const scriptedBinDir = join(import.meta.dirname, "bin");

/** The scripted agent. It uses the forms of Claude Code for its transcript, its reports and its state file, under its own paths. */
export const scriptedAgent: AgentTemplate = {
  name: "scripted",
  aliases: [],
  displayName: "Scripted agent",
  binaryName: "scripted",
  releases: null,
  keyVariables: [],
  nestingVariables: [],
  idRegime: "assigned",
  transcriptFormat: "claude",
  hasHooks: true,
  readyBy: "session_start",
  commandPrefixes: ["/", "!"],
  commandWords: ["exit"],
  readsMentions: false,
  accepts: { model: true, systemPrompt: "file", prompt: true },
  paste: { bracketed: true, enterDelayMs: 0, suffix: "", isExact: () => true, editorKey: null },
  interruptKeys: "\x1b",
  exitKeys: ["/exit", "\r"],
  loginArgs: [],
  plan,
  toolAction({ tool, input }) {
    const call = z.looseObject({ command: z.string().optional(), file_path: z.string().optional() }).safeParse(input);
    const { command, file_path: path } = call.data ?? {};
    if (tool === "Bash" && command !== undefined) return { tool: "command", line: command };
    return tool === "Write" && path !== undefined ? { tool: "edit", paths: [path] } : null;
  },
  parseHook: (payload) =>
    parsePayload(payload, (fields) => {
      const event = fields.hook_event_name;
      if (event === "PostToolUseFailure") return { kind: "tool_ended", ...toolCall(fields) };
      if (event === "StopFailure") {
        const needs = textField(fields, "error") === "authentication_failed" ? { needs: "login" as const } : {};
        return { kind: "turn_failed", message: textField(fields, "last_assistant_message"), ...needs };
      }
      const asksUser = event === "PermissionRequest" && fields["tool_name"] === "AskUserQuestion";
      if (asksUser) return { kind: "permission_asked", asks: "question", ...toolCall(fields) };
      return sharedEvent(fields);
    }),
  composerPainted: (lines) => composerRows(lines) !== null,
  composer: {
    text: ({ lines }) => {
      const rows = composerRows(lines);
      return rows === null ? null : typedText(rows, /^❯/);
    },
    clearKeys: clearRows,
    pastedWord: /\[Pasted text #\d+[^\]]*\]\s*$/,
    mayHoldEnter: false,
    getsPromptBack: false,
  },
  readDialog: (lines) => readDialog(lines, dialogs),
  transcriptRoots: (env) => [join(stateDir(env), "projects")],
  transcriptPlaces: (env) => [{ root: join(stateDir(env), "projects"), names: [/./, uuidFile("", ["jsonl"])] }],
  findTranscript: (agentSessionId, env) => findInProjectFolders(join(stateDir(env), "projects"), agentSessionId),
  canResume: async (path) => /"type":"(?:user|assistant)"/.test(await readFile(path, "utf8")),
  discoverSessionId: async ({ pid, env }) => (await liveClaudeState(sessionsDir(env), pid))?.sessionId ?? null,
  externalHolder: async (agentSessionId, env) => (await claudeSessions(sessionsDir(env))).get(agentSessionId) ?? null,
  externalSessions: (env) => recentSessions(sessionsDir(env)),
  async liveState(agentSessionId, { pid, env }) {
    const state = await liveClaudeState(sessionsDir(env), pid);
    const activity = state?.sessionId === agentSessionId ? claudeActivity(state) : null;
    return activity === null ? null : { activity, since: state?.statusUpdatedAt ?? null, hooked: true };
  },
  liveStatePath: ({ pid, env }) => join(sessionsDir(env), `${pid}.json`),
  loginState: async () => "logged_in",
};

const recentSessions = createHolderMemory(claudeSessions);

const dialogs: DialogForm = {
  cursors: "❯",
  top: /^─{8,}/,
  known: [
    { title: "Trust this folder?", sign: /^ Do you trust/ },
    { title: "Permission", sign: /^ Do you want to/, decides: { allow: /^Yes$/, deny: /^No$/ } },
  ],
};

function stateDir(env: Environment): string {
  return env["SCRIPTED_HOME"] ?? join(env["HOME"] ?? "/", ".scripted");
}

function sessionsDir(env: Environment): string {
  return join(stateDir(env), "sessions");
}

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  const argv: [string, ...string[]] = [
    request.binary,
    request.kind === "start" ? "--session" : "--resume",
    request.sessionId,
    "--mode",
    request.permissionMode,
  ];
  if (request.model !== null) argv.push("--model", request.model);
  if (request.systemPrompt !== null) {
    const file = join(request.launchDir, "system-prompt.txt");
    await writeFile(file, request.systemPrompt, { mode: 0o600 });
    argv.push("--system-prompt-file", file);
  }
  if (request.prompt !== null) argv.push("--", request.prompt);
  return { argv, env: {} };
}

/** Between two rules; the first row starts with the prompt sign. */
function composerRows(lines: readonly string[]): readonly string[] | null {
  const isRule = (line: string | undefined): boolean => /^─{8,}/.test(line ?? "");
  const row = lines.findLastIndex((line, at) => /^❯(?:\s|$)/.test(line) && isRule(lines[at - 1]));
  const end = lines.findIndex((line, at) => at > row && isRule(line));
  return row === -1 || end === -1 ? null : lines.slice(row, end);
}
