import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { expect, inject, onTestFinished } from "vitest";
import { hookCommand } from "../../src/agents/hook-payload.ts";
import type { AgentTemplate, HookClaim, LaunchPlan, LaunchRequest } from "../../src/agents/template.ts";
import { newUuid } from "../../src/core/ids.ts";
import { type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { agentEngine } from "./agent-engine.ts";
import { makeTestFolder } from "./test-folder.ts";

/** An agent's surroundings in a test: a separate home, state folder, project and model; removed when the test ends. */
export interface AgentWorld {
  readonly template: AgentTemplate;
  readonly binary: string;
  readonly model: ModelServer;
  readonly root: string;
  /** The project. */
  readonly dir: string;
  /** `CLAUDE_CONFIG_DIR` or `CODEX_HOME`. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Starts the agent in a terminal exactly as its template plans it. */
  launch(changes?: Partial<LaunchRequest>): Promise<PlannedAgent>;
}

/** An agent in a terminal, with nothing of Postern but its template and the hook script. */
export interface PlannedAgent {
  readonly pid: number;
  readonly plan: LaunchPlan;
  readonly env: Readonly<Record<string, string>>;
  screen(): readonly string[];
  write(data: string): void;
  /** Pastes a prompt and presses Enter, as the template says. */
  paste(text: string): Promise<void>;
  /** What the hooks reported so far, as the template reads it. */
  claims(): readonly HookClaim[];
  kinds(): readonly string[];
  /** Waits for the `count`th event of this kind. */
  until(kind: HookClaim["event"]["kind"], count?: number): Promise<HookClaim>;
  untilScreen(text: string): Promise<void>;
  untilComposer(): Promise<void>;
  /** Presses Enter in a dialog until it closes: both agents drop keys that arrive right after the dialog was painted. */
  approve(asks: () => boolean | Promise<boolean>): Promise<void>;
  readonly exited: Promise<number>;
  kill(): Promise<void>;
}

const apiKey = "sk-scripted-model-server-0000000000000000";
const patience = { timeout: 40_000, interval: 50 };

/** Makes a world for one agent; `agents` of the test context names its binary. */
export async function makeAgentWorld(template: AgentTemplate): Promise<AgentWorld> {
  const root = makeTestFolder("agent");
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));
  const model = await startModelServer();
  onTestFinished(() => model.close());
  const folders = { dir: join(root, "project"), stateDir: join(root, "state"), home: join(root, "home") };
  for (const folder of Object.values(folders)) await mkdir(folder);
  const isClaude = template.transcriptFormat === "claude";
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: folders.home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    ...agentEngine,
    ...(isClaude
      ? { CLAUDE_CONFIG_DIR: folders.stateDir, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: apiKey }
      : { CODEX_HOME: folders.stateDir, OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: apiKey }),
  };
  const binary = inject("agents")[isClaude ? "claude" : "codex"];
  return {
    template,
    binary,
    model,
    root,
    dir: folders.dir,
    stateDir: folders.stateDir,
    env,
    async launch(changes = {}) {
      const launchDir = join(root, `launch-${newUuid()}`);
      await mkdir(launchDir, { mode: 0o700 });
      const inbox = join(launchDir, "inbox");
      const request: LaunchRequest = {
        kind: "start",
        sessionId: newUuid(),
        dir: folders.dir,
        prompt: null,
        model: null,
        systemPrompt: null,
        permissionMode: "ask",
        binary,
        launchDir,
        hookCommand: hookCommand(),
        permissionTimeoutMs: 60_000,
        trustDir: true,
        ...changes,
        env: { ...(changes.env ?? env), POSTERN_SESSION_INBOX: inbox },
      };
      return startPlanned(template, request, inbox);
    },
  };
}

async function startPlanned(template: AgentTemplate, request: LaunchRequest, inbox: string): Promise<PlannedAgent> {
  const plan = await template.plan(request);
  const env = { ...request.env, ...plan.env };
  const terminal = new xterm.Terminal({ cols: 120, rows: 40, scrollback: 1000, allowProposedApi: true });
  const [program, ...args] = plan.argv;
  const pty = spawn(program, args, { name: "xterm-256color", cols: 120, rows: 40, cwd: request.dir, env });
  pty.onData((data) => terminal.write(data));
  let alive = true;
  terminal.onData((data) => alive && pty.write(data));
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      alive = false;
      resolve(signal === undefined || signal === 0 ? exitCode : 128 + signal);
    });
  });
  async function kill(): Promise<void> {
    if (alive) pty.kill("SIGKILL");
    await exited;
  }
  onTestFinished(async () => {
    await kill();
    terminal.dispose();
  });
  const screen = (): readonly string[] => {
    const buffer = terminal.buffer.active;
    return Array.from({ length: terminal.rows }, (_, row) =>
      (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
    );
  };
  const claims = (): readonly HookClaim[] =>
    readInbox(inbox).flatMap((payload) => template.parseHook(JSON.stringify(payload)) ?? []);
  const write = (data: string): void => {
    if (alive) pty.write(data);
  };
  return {
    pid: pty.pid,
    plan,
    env,
    screen,
    write,
    claims,
    exited,
    kill,
    kinds: () => claims().map(({ event }) => event.kind),
    async paste(text) {
      write(`\x1b[200~${text}${template.paste.suffix}\x1b[201~`);
      await new Promise((resolve) => setTimeout(resolve, template.paste.enterDelayMs));
      write("\r");
    },
    async approve(asks) {
      await expect.poll(asks, patience).toBe(true);
      const press = async (): Promise<boolean> => {
        if (await asks()) write("\r");
        return asks();
      };
      await expect.poll(press, { ...patience, interval: 1_000 }).toBe(false);
    },
    async until(kind, count = 1) {
      const deadline = Date.now() + patience.timeout;
      while (Date.now() < deadline) {
        const found = claims().filter(({ event }) => event.kind === kind)[count - 1];
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, patience.interval));
      }
      const seen = claims().map(({ event }) => event.kind);
      throw new Error(
        `No ${kind} (${count}) after ${seen.join(", ")}. The screen shows:\n${screen().join("\n").trim()}`,
      );
    },
    untilScreen: (text) => expect.poll(() => screen().join("\n"), patience).toContain(text),
    untilComposer: () => expect.poll(() => template.composerPainted(screen()), patience).toBe(true),
  };
}

function readInbox(path: string): readonly unknown[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return []; // no hook has fired yet
  }
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line): unknown => JSON.parse(line).payload);
}
