import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { agentEngine } from "./agent-engine.ts";
import { makeTestFolder } from "./test-folder.ts";

/** A real agent in a PTY, with nothing of Postern around it: for proving the model server and for measuring the agents. */
export interface RawAgent {
  readonly pid: number;
  /** The agent's state folder (`CLAUDE_CONFIG_DIR` or `CODEX_HOME`). */
  readonly stateDir: string;
  readonly dir: string;
  /** The visible screen, one string for each line. */
  screen(): readonly string[];
  write(data: string): void;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  /** Pastes a prompt and presses Enter, as a person would. */
  prompt(text: string): Promise<void>;
  readonly exited: Promise<{ readonly exitCode: number; readonly signal?: number }>;
  /** Kills the agent and removes its folders. Idempotent. */
  close(): Promise<void>;
}

/** How to start a {@link RawAgent}. */
export interface RawAgentOptions {
  readonly agent: "claude" | "codex";
  readonly binary: string;
  readonly modelServerUrl: string;
  /** Goes in argv. */
  readonly prompt?: string;
  /** After the default flags, before the prompt: a flag given again overrides the default. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Gets all output as it comes. */
  onOutput?(data: string): void;
}

const apiKey = "sk-scripted-model-server-0000000000000000";
const pasteToEnterMs = 150;

/** Starts the agent in fresh folders, with every first-run dialog pre-empted. */
export async function startRawAgent(options: RawAgentOptions): Promise<RawAgent> {
  const root = makeTestFolder(options.agent);
  const dir = join(root, "project");
  const stateDir = join(root, "state");
  await mkdir(dir);
  await mkdir(stateDir);
  const plan =
    options.agent === "claude" ? await planClaude(options, dir, stateDir) : planCodex(options, dir, stateDir);
  const terminal = new xterm.Terminal({ cols: 120, rows: 40, scrollback: 1000, allowProposedApi: true });
  const pty = spawn(options.binary, [...plan.args], {
    name: "xterm-256color",
    cols: 120,
    rows: 40,
    cwd: dir,
    env: {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: root,
      LANG: "C.UTF-8",
      ...agentEngine,
      ...plan.env,
      ...options.env,
    },
  });
  pty.onData((data) => {
    terminal.write(data);
    options.onOutput?.(data);
  });
  terminal.onData((data) => pty.write(data));
  const exited = new Promise<{ exitCode: number; signal?: number }>((resolve) => pty.onExit(resolve));
  let open = true;
  void exited.then(() => (open = false));
  const write = (data: string): void => {
    if (open) pty.write(data);
  };
  return {
    pid: pty.pid,
    stateDir,
    dir,
    screen: () => {
      const buffer = terminal.buffer.active;
      return Array.from({ length: terminal.rows }, (_, row) =>
        (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
      );
    },
    write,
    resize({ cols, rows }) {
      terminal.resize(cols, rows);
      if (open) pty.resize(cols, rows);
    },
    async prompt(text) {
      write(`\x1b[200~${text}\x1b[201~`);
      await new Promise((resolve) => setTimeout(resolve, pasteToEnterMs));
      write("\r");
    },
    exited,
    async close() {
      if (open) pty.kill("SIGKILL");
      await exited;
      terminal.dispose();
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Plan {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function planClaude(options: RawAgentOptions, dir: string, stateDir: string): Promise<Plan> {
  const state = {
    hasCompletedOnboarding: true,
    hasSeenAutoDefaultNotice: true,
    projects: { [dir]: { hasTrustDialogAccepted: true } },
    customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
  };
  await writeFile(join(stateDir, ".claude.json"), JSON.stringify(state));
  return {
    args: [
      "--permission-mode",
      "bypassPermissions",
      "--settings",
      JSON.stringify({ skipDangerousModePermissionPrompt: true }),
      ...(options.args ?? []),
      ...(options.prompt === undefined ? [] : ["--", options.prompt]),
    ],
    env: {
      CLAUDE_CONFIG_DIR: stateDir,
      ANTHROPIC_BASE_URL: options.modelServerUrl,
      ANTHROPIC_API_KEY: apiKey,
      IS_SANDBOX: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
    },
  };
}

function planCodex(options: RawAgentOptions, dir: string, stateDir: string): Plan {
  const provider = `{name="local",base_url="${options.modelServerUrl}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
  const settings = [
    'model_provider="local"',
    `model_providers.local=${provider}`,
    'approval_policy="never"',
    'sandbox_mode="danger-full-access"',
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    `projects={"${dir}"={trust_level="trusted"}}`,
  ];
  return {
    args: [
      "--no-daemon",
      "-C",
      dir,
      ...settings.flatMap((setting) => ["-c", setting]),
      ...(options.args ?? []),
      ...(options.prompt === undefined ? [] : ["--", options.prompt]),
    ],
    env: { CODEX_HOME: stateDir, OPENAI_API_KEY: apiKey },
  };
}
