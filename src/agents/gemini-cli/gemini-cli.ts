import { dirname, join } from "node:path";
import type { PermissionMode } from "../../wire/coding.ts";
import { createHolderMemory } from "../agent-processes.ts";
import { agentError } from "../errors.ts";
import { findByHeadId } from "../find-transcript.ts";
import { type DialogForm, moreRows, readDialog } from "../screen-dialog.ts";
import type { AgentTemplate, LaunchPlan, LaunchRequest, ObservedActivity } from "../template.ts";
import { movedTo, typedLog } from "./gemini-log.ts";
import { geminiSessions, loggedProcess } from "./gemini-processes.ts";
import { answerKeyDialog, geminiDir, geminiKeyVariables, hidesTitle } from "./gemini-settings.ts";

const modes = { ask: "default", edits: "auto_edit", all: "yolo" } satisfies Record<PermissionMode, string>;

/** The id's first eight digits are in the name, all of it in the file's first line. */
const fileName = /^session-.+-(?<beginning>[0-9a-f]{8})\.jsonl$/;

/**
 * Gemini CLI, as measured with 0.61.0. It takes hooks from files of the user, of the repository or of root only, none of them one
 * session's: so its transcript tells of turns, and its window title of its state.
 */
export const geminiCli: AgentTemplate = {
  name: "gemini-cli",
  aliases: ["gemini"],
  displayName: "Gemini CLI",
  binaryName: "gemini",
  npmPackage: "@google/gemini-cli",
  keyVariables: geminiKeyVariables,
  nestingVariables: [
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_*",
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_SESSION_ID",
    "GEMINI_PROJECT_DIR",
    "GEMINI_PLANS_DIR",
    "GEMINI_CWD",
    // What the launch of the agent around the gateway has set was meant for that agent.
    "GEMINI_CLI_TRUST_WORKSPACE",
  ],
  idRegime: "assigned",
  transcriptFormat: "gemini",
  hasHooks: false,
  readyBy: "composer",
  // A prompt that begins with `?` is left out of what a resumed session remembers.
  commandPrefixes: ["/", "!", "@", "?"],
  commandWords: ["exit", "quit"],
  readsMentions: true,
  // There is no way to add to the system prompt, only to replace all of it.
  accepts: { model: true, systemPrompt: false, prompt: true },
  // Enter within 40 ms of a paste, by the agent's own clock, is a new line; a last `\` makes it one too.
  paste: { bracketed: true, enterDelayMs: 300, suffix: " ", isExact: () => true, editorKey: null },
  interruptKeys: "\x1b",
  // It logs in with a dialog, which it opens by itself.
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
    // To the left, and the line end before that; then what is to the right.
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
  // The id was assigned: there is nothing to find out.
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

/** Where the folder of a transcript lies. */
function projectOf(transcriptPath: string): string {
  return dirname(dirname(transcriptPath));
}

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  if (request.systemPrompt !== null) {
    throw agentError("invalid_request", "gemini-cli takes no systemPrompt: it can only replace its own as a whole.");
  }
  const hiding = await hidesTitle(request);
  if (hiding !== null) {
    throw agentError(
      "agent_start_failed",
      `Cannot start gemini-cli: its window title is the only place where it tells what it is doing, and ${hiding} switches that off. Take "dynamicWindowTitle" and "hideWindowTitle" out of it.`,
    );
  }
  await answerKeyDialog(request.env);
  const argv: [string, ...string[]] = [
    request.binary,
    // With "=", so that no value is ever read as a flag.
    `${request.kind === "start" ? "--session-id" : "--resume"}=${request.sessionId}`,
    `--approval-mode=${modes[request.permissionMode]}`,
  ];
  if (request.model !== null) argv.push(`--model=${request.model}`);
  if (request.prompt !== null) argv.push(`--prompt-interactive=${request.prompt}`);
  return {
    argv,
    env: {
      // Else it starts itself once more, and stays as the parent of that.
      GEMINI_CLI_NO_RELAUNCH: "true",
      // Trust for this launch alone: it leaves with the process, as the registration of a folder can be taken back.
      ...(request.trustDir ? { GEMINI_CLI_TRUST_WORKSPACE: "true" } : {}),
    },
  };
}

/** The agent's own signs, which no other words of its title begin with. */
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
/** What follows in a conversation: an answer, a message, a box. */
const conversation = /^\s*[✦╭│ℹ✕⚠]/;

/**
 * What is in the last box with a prompt sign, when nothing but the lines of state follows: what was said before stands in such boxes too.
 * Null when there is none.
 */
function composerRows(lines: readonly string[]): readonly string[] | null {
  const top = lines.findLastIndex((line) => boxTop.test(line));
  const bottom = lines.findLastIndex((line) => boxBottom.test(line));
  if (top === -1 || bottom <= top + 1 || !/^ [>*](?:\s|$)/.test(lines[top + 1] ?? "")) return null;
  if (lines.slice(bottom + 1).some((line) => conversation.test(line))) return null;
  // The sign and what is left of the other lines.
  return lines.slice(top + 1, bottom).map((line) => line.slice(3));
}

/** Not faint, and one cell further to the right than what is typed: the cursor stands before it. */
function isHint([first = "", ...others]: readonly string[]): boolean {
  return others.every((row) => row.trim() === "") && /^ {2}Type your message/.test(first);
}
