import { mkdir, readdir, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { newUuid } from "../../core/ids.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import { runCommand } from "../../platform/run-command.ts";
import { parseLine } from "../../transcripts/index.ts";
import type { PermissionMode } from "../../wire/coding.ts";
import { createHolderMemory } from "../agent-processes.ts";
import { findInDayFolders, uuidFile } from "../find-transcript.ts";
import { parsePayload, sharedEvent } from "../hook-payload.ts";
import { clearRows, type DialogForm, readDialog, typedText } from "../screen-dialog.ts";
import type { AgentTemplate, Environment, LaunchPlan, LaunchRequest, LoginState } from "../template.ts";
import { codexToolAction } from "./codex-actions.ts";
import {
  type CodexHook,
  codexKeyVariables,
  keyProviderArguments,
  readCodexConfig,
  tomlString,
  tomlTable,
  trustedHookArguments,
} from "./codex-arguments.ts";
import { checkCodexSandbox, helpersOnPath, nativeCodex, withoutHelpers } from "./codex-binary.ts";
import { codexCommands, codexHome as homeOf } from "./codex-commands.ts";
import { heldSession, lockedSessions, lockHolder } from "./codex-locks.ts";

/** Approval policy and sandbox. In a read-only sandbox every write and every significant command needs approval. */
const policies = {
  ask: ["on-request", "read-only"],
  edits: ["on-request", "workspace-write"],
  all: ["never", "danger-full-access"],
} satisfies Record<PermissionMode, readonly [string, string]>;

const statusTimeoutMs = 10_000;

/** Codex CLI, as measured with 0.169.0. */
export const codex: AgentTemplate = {
  name: "codex",
  aliases: ["agent_b"],
  displayName: "Codex CLI",
  binaryName: "codex",
  releases: {
    npmPackage: "@openai/codex",
    minimum: "0.156.0",
    newestTested: "0.171.0",
    updateCommand: "npm install -g @openai/codex@latest",
  },
  keyVariables: codexKeyVariables,
  nestingVariables: [
    "CODEX_CI",
    "CODEX_SANDBOX*",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
    "CODEX_MANAGED_*",
  ],
  idRegime: "discovered",
  transcriptFormat: "codex",
  hasHooks: true,
  readyBy: "composer",
  commandPrefixes: ["/", "!"],
  commandWords: [],
  readsMentions: false,
  commands: codexCommands,
  accepts: { model: true, systemPrompt: "file", prompt: true },
  paste: { bracketed: true, enterDelayMs: 150, suffix: " ", isExact: () => true, editorKey: "\x07" },
  // The argument `--image`, and later a pasted path, give the model the image's bytes; a mention does not (0.169.0). The argument is a
  // list with commas, and a pasted path is split like a shell's words.
  attachments: {
    beside: {
      takes: ({ path, isImage }) => isImage && /^[\w./+-]+$/.test(path),
      placeholder: (nth) => `[Image #${nth}]`,
    },
  },
  interruptKeys: "\x1b",
  exitKeys: ["/quit", "\r"],
  // This login waits for the browser on local port 1455.
  loginArgs: ["login"],
  codeLoginArgs: ["login", "--device-auth"],
  plan,
  toolAction: codexToolAction,
  parseHook: (payload) => parsePayload(payload, sharedEvent),
  composerPainted: (lines) => composerRows(lines) !== null,
  isStarting: (lines) => composerRows(lines) === null && startingRow.test(lines.findLast((line) => line.trim()) ?? ""),
  composer: {
    text: ({ lines, bright }) => {
      const rows = composerRows(lines, bright ?? []);
      return bright === null || rows === null ? null : typedText(rows, /^›/);
    },
    clearKeys: clearRows,
    pastedWord: /\[Pasted Content \d+ chars\](?: #\d+)?\s*$/,
    mayHoldEnter: false,
    getsPromptBack: false,
  },
  readDialog: (lines) => readDialog(lines, dialogs),
  transcriptRoots: (env) => [join(homeOf(env), "sessions")],
  transcriptPlaces: (env) => [
    {
      root: join(homeOf(env), "sessions"),
      names: [/^\d+$/, /^\d+$/, /^\d+$/, uuidFile("rollout-.*-", ["jsonl", "jsonl\\.zst"])],
    },
  ],
  findTranscript: (agentSessionId, env) => findInDayFolders(join(homeOf(env), "sessions"), agentSessionId),
  canResume: hasFirstLine,
  discoverSessionId: ({ pid, env }) => heldSession(homeOf(env), pid),
  async externalHolder(agentSessionId, env) {
    const pid = await lockHolder(homeOf(env), agentSessionId);
    return pid === null ? null : { pid, activity: null };
  },
  externalSessions: (env) => recentSessions(homeOf(env)),
  liveState: async () => null,
  liveStatePath: () => null,
  loginState,
  probeEnv: withoutHelpers,
  ownFiles: (env) => profileLinks(homeOf(env)),
  checkSandbox: (binary, env) => checkCodexSandbox(binary, { env, home: homeOf(env) }),
};

/** As painted by 0.156.0, 0.159.3 and 0.169.0. */
const dialogs: DialogForm = {
  cursors: "›>",
  known: [
    { title: "Trust this folder?", sign: /^ +Folder access$|Do you trust the contents of this directory\?/ },
    { title: "Log in", sign: /^ +Welcome to Codex/ },
    { title: "Review hooks?", sign: /^ +Hooks need review$/ },
    {
      title: "Permission",
      sign: /^ +Would you like to \S/,
      decides: { allow: /^Yes, proceed\b/, deny: /^No, / },
    },
  ],
};

const recentSessions = createHolderMemory(lockedSessions);

async function plan(request: LaunchRequest): Promise<LaunchPlan> {
  const home = homeOf(request.env);
  const { binary, env } = await nativeCodex(request.binary);
  const helpers = await helpersOnPath(binary, join(request.launchDir, "helpers"), request.env);
  const config = await readCodexConfig(home);
  const [approval, sandbox] = policies[request.permissionMode];
  const settings = ["check_for_update_on_startup=false", "analytics.enabled=false"];
  if (request.trustDir) settings.push(`projects=${tomlTable([[request.dir, `{trust_level="trusted"}`]])}`);
  // Our instructions replace the user's own, so the user's are put before them.
  const instructions = [config.developerInstructions, request.systemPrompt].filter((text) => text !== null);
  const profile =
    request.systemPrompt === null
      ? []
      : await instructionsArguments(instructions.join("\n\n"), { home, launchDir: request.launchDir });
  const argv: [string, ...string[]] = [
    binary,
    ...(request.kind === "resume" ? ["resume"] : []),
    // Without this flag, a daemon and an updater outlive the terminal.
    "--no-daemon",
    // Also passed on a resume, because a changed directory opens a dialog. It is ".", because the path may lead elsewhere by now.
    "-C",
    ".",
    "-a",
    approval,
    "-s",
    sandbox,
    ...(request.model === null ? [] : [`--model=${request.model}`]),
    ...profile,
    ...settings.flatMap((setting) => ["-c", setting]),
    ...(await keyProviderArguments(home, config, request.env)),
    ...(await trustedHookArguments(binary, hookOf(request), request.env)),
    ...(request.files ?? []).map((path) => `--image=${path}`),
    ...positionals(request),
  ];
  return { argv, env: { ...env, ...helpers } };
}

function hookOf({ hookCommand: command, permissionTimeoutMs }: LaunchRequest): CodexHook {
  return { command, permissionTimeoutMs };
}

/** After `--`, so that nothing is read as a flag. */
function positionals({ kind, sessionId, prompt }: LaunchRequest): readonly string[] {
  const values = [...(kind === "resume" ? [sessionId] : []), ...(prompt === null ? [] : [prompt])];
  return values.length === 0 ? [] : ["--", ...values];
}

async function loginState(binary: string, env: Environment): Promise<LoginState> {
  const native = await nativeCodex(binary);
  const { exitCode } = await runCommand([native.binary, "login", "status"], {
    env: { ...env, ...withoutHelpers },
    timeoutMs: statusTimeoutMs,
  });
  if (exitCode === 0) return "logged_in";
  if (codexKeyVariables.some((name) => Boolean(env[name]))) return "key_variable";
  return exitCode === 1 ? "logged_out" : "unknown";
}

// First lines have about 25 KB; a larger file contains more than its first line.
const maxFirstLineBytes = 1024 * 1024;

/**
 * Whether the first line of a rollout is complete. If the agent was killed while writing it, `resume` ends with "No saved session found";
 * anything missing later does no harm (0.169.0).
 */
async function hasFirstLine(path: string): Promise<boolean> {
  if (!path.endsWith(".jsonl")) return true; // a compressed file was completed long ago
  const bytes = await readSmallFile(path, maxFirstLineBytes);
  if (!(bytes instanceof Buffer)) return true;
  const end = bytes.indexOf("\n");
  return parseLine(end < 0 ? bytes : bytes.subarray(0, end)) !== null;
}

/** The last row on the screen of a Codex that is starting and does not accept a prompt yet; 0.156.0 has nothing below an empty composer. */
const startingRow = /^(?: +\? for shortcuts| +Waiting for startup +· esc cancel|› Ask Codex to do anything) *$/;

/** The notice in place of the composer while another process writes the session; it has keys (`r retry`, `f fork`), but no choices to move to (0.169.0). */
const openElsewhere = /^ +\S+ +This conversation is open in another app(?: {2,}r to retry)?$/;

/**
 * The rows of `from` from the last prompt sign that is not a dialog's choice up to the line with model and directory. While Codex starts, that
 * line is missing, or is "Waiting for startup · esc cancel" after a prompt was typed.
 */
function composerRows(lines: readonly string[], from = lines): readonly string[] | null {
  const row = lines.findLastIndex((line) => /^›(?:\s|$)/.test(line));
  if (row === -1 || /^›\s+\d+\.\s/.test(lines[row] ?? "")) return null;
  const isStatus = (line: string | undefined): boolean => / · (?!esc cancel)/.test(line ?? "");
  const below = lines.slice(row + 1);
  if (!below.some(isStatus) || below.some((line) => openElsewhere.test(line))) return null;
  const end = lines.findLastIndex((line, at) => at > row && line.trim() === "" && isStatus(lines[at + 1]));
  return from.slice(row, end === -1 ? row + 1 : end);
}

const profileLink = /^postern-[0-9a-f-]{36}\.config\.toml$/;

/**
 * Passes developer instructions in a file, since arguments are visible to all users in the list of processes. Codex reads them from a
 * profile, and only in its own folder (0.156.0 to 0.169.0): a link in that folder points to the file in the launch folder. The profile overrides
 * only this key of `config.toml`.
 * @returns the arguments
 */
async function instructionsArguments(
  instructions: string,
  { home, launchDir }: { readonly home: string; readonly launchDir: string },
): Promise<readonly string[]> {
  const file = join(launchDir, "instructions.config.toml");
  await writeFileAtomic(file, `developer_instructions=${tomlString(instructions)}\n`, { durable: false });
  await mkdir(home, { recursive: true, mode: 0o700 });
  await removeOldLinks(home);
  const name = `postern-${newUuid()}`;
  await symlink(file, join(home, `${name}.config.toml`));
  return [`--profile=${name}`];
}

async function profileLinks(home: string): Promise<readonly string[]> {
  const names = await readdir(home).catch(() => []); // Codex has no folder yet
  return names.filter((name) => profileLink.test(name)).map((name) => join(home, name));
}

/** Removes links to launch folders that no longer exist. */
async function removeOldLinks(home: string): Promise<void> {
  for (const link of await profileLinks(home)) {
    const isThere = await stat(link).then(
      () => true,
      () => false, // dangling, or removed by another start
    );
    if (!isThere) await unlink(link).catch(() => undefined); // the next start tries again
  }
}
