import { dirname, join } from "node:path";
import type { PermissionMode } from "../../wire/coding.ts";
import { createHolderMemory } from "../agent-processes.ts";
import { agentError } from "../errors.ts";
import { findByHeadId } from "../find-transcript.ts";
import { type DialogForm, moreRows, readDialog } from "../screen-dialog.ts";
import type { AgentTemplate, LaunchPlan, LaunchRequest, ObservedActivity } from "../template.ts";
import { geminiCommands } from "./gemini-commands.ts";
import { movedTo, typedLog } from "./gemini-log.ts";
import { geminiSessions, loggedProcess } from "./gemini-processes.ts";
import { answerKeyDialog, geminiDir, geminiKeyVariables, hidesTitle } from "./gemini-settings.ts";

const modes = { ask: "default", edits: "auto_edit", all: "yolo" } satisfies Record<PermissionMode, string>;

/** The name contains the first eight digits of the id; the file's first line contains the whole id. */
const fileName = /^session-.+-(?<beginning>[0-9a-f]{8})\.jsonl$/;

/**
 * Gemini CLI, as measured with 0.61.0. It reads hooks only from files of the user, the repository or root, none of which belong to a single
 * session. So turns are read from its transcript, and its state from the window title.
 */
export const geminiCli: AgentTemplate = {
  name: "gemini-cli",
  aliases: ["gemini"],
  displayName: "Gemini CLI",
  binaryName: "gemini",
  releases: {
    npmPackage: "@google/gemini-cli",
    minimum: "0.45.2",
    newestTested: "0.61.0",
    updateCommand: "npm install -g @google/gemini-cli@latest",
  },
  keyVariables: geminiKeyVariables,
  nestingVariables: [
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_*",
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_SESSION_ID",
    "GEMINI_PROJECT_DIR",
    "GEMINI_PLANS_DIR",
    "GEMINI_CWD",
    // Set when the agent that started this gateway was launched, and meant only for that agent.
    "GEMINI_CLI_TRUST_WORKSPACE",
  ],
  idRegime: "assigned",
  transcriptFormat: "gemini",
  hasHooks: false,
  readyBy: "composer",
  // A resumed session forgets prompts that start with `?`.
  commandPrefixes: ["/", "!", "@", "?"],
  commandWords: ["exit", "quit"],
  readsMentions: true,
  mention: (path) => `@${path.replace(/[^\p{L}\p{N}_./-]/gu, "\\$&")}`,
  commands: geminiCommands,
  // Its system prompt can only be replaced, not extended.
  accepts: { model: true, systemPrompt: false, prompt: true },
  // Enter within 40 ms after a paste becomes a line break, and so does Enter after a trailing `\`.
  paste: { bracketed: true, enterDelayMs: 300, suffix: " ", isExact: () => true, editorKey: null },
  interruptKeys: "\x1b",
  exitKeys: ["/quit", "\r"],
  // The user logs in through the agent's own dialog.
  loginArgs: [],
  plan,
  parseHook: () => null,
  composerPainted: (lines) => composerRows(lines) !== null,
  composer: {
    text: ({ lines }) => {
      const rows = composerRows(lines);
      if (rows === null) return null;
      return isHint(rows) || rows.every((row) => row.trim() === "") ? "" : rows.join("\n");
    },
    // Clears everything to the left of the cursor, line by line, then the text to the right.
    clearKeys: (text) => `${"\x15\x7f".repeat(text.split("\n").length + moreRows)}\x0b`,
    pastedWord: /\[Pasted Text: [^\]]*\]\s*$/,
    mayHoldEnter: true,
    getsPromptBack: false,
  },
  readDialog: (lines) => readDialog(lines, dialogs),
  readTitle,
  transcriptRoots: (env) => [join(geminiDir(env), "tmp")],
  transcriptPlaces: (env) => [
    { root: join(geminiDir(env), "tmp"), names: [/./, /^chats$/, fileName], idInFirstLine: true },
  ],
  findTranscript: (agentSessionId, env) => findByHeadId(join(geminiDir(env), "tmp"), agentSessionId),
  discoverSessionId: async () => null,
  moves: {
    watched: (transcriptPath) => join(projectOf(transcriptPath), typedLog),
    async movedTo({ pid, transcriptPath }) {
      const process = await loggedProcess(pid);
      return process === null ? null : movedTo(projectOf(transcriptPath), process, Date.now());
    },
  },
  async externalHolder(agentSessionId, env) {
    return (await recentSessions(geminiDir(env))).get(agentSessionId) ?? null;
  },
  externalSessions: (env) => recentSessions(geminiDir(env)),
  liveState: async () => null,
  liveStatePath: () => null,
  loginState: async (_binary, env) =>
    geminiKeyVariables.some((name) => Boolean(env[name])) ? "key_variable" : "unknown",
};

/** As painted by 0.54.4, 0.57.0 and 0.61.0. */
const dialogs: DialogForm = {
  cursors: "●",
  known: [
    { title: "Trust this folder?", sign: /Do you trust the files in this folder\?/ },
    { title: "Log in", sign: /How would you like to authenticate for this project\?/ },
  ],
};

const recentSessions = createHolderMemory(geminiSessions);

/** The project folder of a transcript. */
function projectOf(transcriptPath: string): string {
  return dirname(dirname(transcriptPath));
}

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  if (request.systemPrompt !== null) {
    throw agentError(
      "invalid_request",
      "gemini-cli does not accept systemPrompt: its own can only be replaced as a whole.",
    );
  }
  const hiding = await hidesTitle(request);
  if (hiding !== null) {
    throw agentError(
      "agent_start_failed",
      `Cannot start gemini-cli: Postern reads its state from the window title, and ${hiding} disables that. Remove "dynamicWindowTitle" and "hideWindowTitle" from the file.`,
    );
  }
  await answerKeyDialog(request.env);
  const argv: [string, ...string[]] = [
    request.binary,
    // With "=", so that no value is read as a flag.
    `${request.kind === "start" ? "--session-id" : "--resume"}=${request.sessionId}`,
    `--approval-mode=${modes[request.permissionMode]}`,
  ];
  if (request.model !== null) argv.push(`--model=${request.model}`);
  if (request.prompt !== null) argv.push(`--prompt-interactive=${request.prompt}`);
  return {
    argv,
    env: {
      // Without this variable, it restarts itself as a child process and stays as its parent.
      GEMINI_CLI_NO_RELAUNCH: "true",
      // Trusts the folder for this launch only, because its registration can be revoked.
      ...(request.trustDir ? { GEMINI_CLI_TRUST_WORKSPACE: "true" } : {}),
    },
  };
}

/** The agent's signs at the start of its titles. */
const signs: readonly (readonly [RegExp, ObservedActivity])[] = [
  [/^◇ {2}Ready/, "idle"],
  [/^✋ {2}Action Required/, "needs_permission"],
  [/^[✦⏲] {2}/, "working"],
];

function readTitle(title: string): ObservedActivity | null {
  return signs.find(([sign]) => sign.test(title))?.[1] ?? null;
}

const boxTop = /^▄{8,}/;
const boxBottom = /^▀{8,}/;
/** Rows that can follow a prompt in a conversation: an answer, a message or a box. */
const conversation = /^\s*[✦╭│ℹ✕⚠]/;

/** The content of the last box with a prompt sign. Null if a conversation follows the box, which then is an earlier prompt. */
function composerRows(lines: readonly string[]): readonly string[] | null {
  const top = lines.findLastIndex((line) => boxTop.test(line));
  const bottom = lines.findLastIndex((line) => boxBottom.test(line));
  if (top === -1 || bottom <= top + 1 || !/^ [>*](?:\s|$)/.test(lines[top + 1] ?? "")) return null;
  if (lines.slice(bottom + 1).some((line) => conversation.test(line))) return null;
  // Without the prompt sign and indent.
  return lines.slice(top + 1, bottom).map((line) => line.slice(3));
}

/** Whether the text is a hint. It is not faint, but starts one cell further right than typed text, behind the cursor. */
function isHint([first = "", ...others]: readonly string[]): boolean {
  return others.every((row) => row.trim() === "") && /^ {2}Type your message/.test(first);
}
