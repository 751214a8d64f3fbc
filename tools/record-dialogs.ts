/**
 * Records the fixtures in test/fixtures/dialogs: agents' dialogs, and their composers, as lines of text.
 * `node tools/record-dialogs.ts <folder> [<package-version> [<scene>]]` starts each agent that is installed in the folder, in subfolders named
 * `<package>-<version>` such as `openai-codex-0.169.0`, as Postern would start it. The agents use the scripted model. Tests only read
 * the fixtures.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import type { AgentTemplate, LaunchRequest } from "../src/agents/template.ts";
import { builtInTemplates } from "../src/agents/templates.ts";
import { newUuid } from "../src/core/ids.ts";
import { startModelServer } from "../test/model-server/model-server.ts";
import { agentEngine } from "../test/support/agent-engine.ts";

/** One agent's environment for one recording. */
interface Place {
  readonly root: string;
  readonly dir: string;
  readonly env: Record<string, string>;
}

/** How to open a dialog. */
interface Scene {
  /** Prepares the environment before the agent starts. */
  readonly prepare?: (place: Place) => Promise<void>;
  readonly request?: Partial<LaunchRequest>;
  /** Changes the arguments, to undo how Postern avoids this dialog. */
  readonly argv?: (argv: readonly string[]) => readonly string[];
  /** Typed once the composer is there. */
  readonly prompt?: string;
}

const size = { cols: 120, rows: 40 };
const stillMs = 3_000;
const longestMs = 60_000;
const target = join(import.meta.dirname, "..", "test", "fixtures", "dialogs");

const write = async (path: string, text: string): Promise<void> => {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
};

const scenes: Readonly<Record<string, Readonly<Record<string, Scene>>>> = {
  "claude-code": {
    composer: {},
    trust: { request: { trustDir: false } },
    "settings-error": { prepare: ({ root }) => write(join(root, "claude", "settings.json"), '{ "model": 7 }') },
    "project-settings-error": { prepare: ({ dir }) => write(join(dir, ".claude", "settings.json"), '{ "model": 7 }') },
    "external-imports": {
      prepare: async ({ root, dir }) => {
        await write(join(root, "rules.md"), "Be brief.\n");
        await write(join(dir, "CLAUDE.md"), `@${join(root, "rules.md")}\n`);
      },
    },
    "api-key": {
      prepare: async ({ root, env }) => {
        const custom = { approved: [], rejected: [] };
        await write(join(root, "claude", ".claude.json"), JSON.stringify({ customApiKeyResponses: custom }));
        env["ANTHROPIC_API_KEY"] = "";
        env["LATE_KEY"] = "sk-scripted-anthropic-1111111111111111";
      },
    },
    "bypass-warning": {
      request: { permissionMode: "all" },
      argv: (argv) =>
        argv.filter((_argument, index) => argv[index] !== "--settings" && argv[index - 1] !== "--settings"),
    },
    "not-logged-in": {
      prepare: async ({ env }) => {
        env["ANTHROPIC_API_KEY"] = "";
      },
    },
    "mcp-server": {
      request: { trustDir: false },
      prepare: async ({ dir, env }) => {
        env["CLAUDE_CODE_SANDBOXED"] = "1";
        await write(join(dir, ".mcp.json"), JSON.stringify({ mcpServers: { notes: { command: "true", args: [] } } }));
      },
    },
    "permission-command": { prompt: "run rm -rf build" },
    "permission-write": { prompt: "write notes.txt with words" },
  },
  codex: {
    composer: {},
    trust: { request: { trustDir: false } },
    login: {
      prepare: async ({ env }) => {
        env["OPENAI_API_KEY"] = "";
      },
    },
    "hooks-review": {
      prepare: ({ root }) =>
        write(
          join(root, "codex", "hooks.json"),
          JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } }),
        ),
    },
    "permission-command": { prompt: "escalate rm -rf build" },
    "permission-write": { prompt: "write notes.txt with words" },
  },
  "gemini-cli": {
    composer: {},
    trust: {
      request: { trustDir: false },
      prepare: ({ root }) =>
        write(
          join(root, ".gemini", "settings.json"),
          JSON.stringify({ security: { folderTrust: { enabled: true }, auth: { selectedType: "gemini-api-key" } } }),
        ),
    },
    login: {
      prepare: async ({ env }) => {
        env["GEMINI_API_KEY"] = "";
      },
    },
  },
  opencode: {
    composer: {},
    "no-provider": {
      prepare: async ({ env }) => {
        env["ANTHROPIC_API_KEY"] = "";
        env["OPENAI_API_KEY"] = "";
        env["GEMINI_API_KEY"] = "";
      },
    },
  },
};

/** The program itself, without a launcher that would run on another Node. */
async function binaryOf(template: AgentTemplate, folder: string): Promise<string> {
  const modules = join(folder, "node_modules");
  if (template.name === "opencode")
    return join(modules, `opencode-${process.platform}-${process.arch}`, "bin", "opencode");
  if (template.name === "claude-code") {
    return join(modules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}`, "claude");
  }
  return realpath(join(modules, ".bin", template.binaryName));
}

async function record(template: AgentTemplate, binary: string, scene: Scene): Promise<readonly string[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "dialogs-")));
  const model = await startModelServer();
  const dir = join(root, "project");
  const launchDir = join(root, "launch");
  for (const folder of [dir, launchDir, join(root, "claude"), join(root, "codex")]) await mkdir(folder);
  execFileSync("git", ["init", "--quiet", dir]);
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
    ...(template.name === "opencode" ? {} : agentEngine),
    CLAUDE_CONFIG_DIR: join(root, "claude"),
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "sk-scripted-anthropic-0000000000000000",
    CODEX_HOME: join(root, "codex"),
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: "sk-scripted-openai-0000000000000000",
    GOOGLE_GEMINI_BASE_URL: model.url,
    GEMINI_API_KEY: "sk-scripted-gemini-0000000000000000",
  };
  await scene.prepare?.({ root, dir, env });
  const plan = await template.plan({
    kind: "start",
    sessionId: newUuid(),
    dir,
    prompt: null,
    model: null,
    systemPrompt: null,
    permissionMode: "ask",
    binary,
    env,
    launchDir,
    hookCommand: "true",
    permissionTimeoutMs: 1_000,
    trustDir: true,
    ...scene.request,
  });
  const [file = "", ...args] = scene.argv?.(plan.argv) ?? plan.argv;
  const late = env["LATE_KEY"] === undefined ? {} : { ANTHROPIC_API_KEY: env["LATE_KEY"] };
  const terminal = new xterm.Terminal({ ...size, scrollback: 0, allowProposedApi: true });
  const pty = spawn(file, args, { name: "xterm-256color", ...size, cwd: dir, env: { ...env, ...plan.env, ...late } });
  pty.onData((data) => terminal.write(data));
  terminal.onData((data) => pty.write(data));
  let gone = false;
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve())).then(() => void (gone = true));
  const screen = (): readonly string[] => {
    const buffer = terminal.buffer.active;
    return Array.from({ length: size.rows }, (_, row) =>
      (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
    );
  };
  const isGone = (): boolean => gone;
  try {
    if (scene.prompt !== undefined) {
      await until(() => template.composerPainted(screen()) || isGone());
      await sleep(500);
      pty.write(`\x1b[200~${scene.prompt}\x1b[201~`);
      await sleep(template.paste.enterDelayMs + 300);
      pty.write("\r");
      await until(() => !template.composerPainted(screen()) || isGone());
    }
    let shown = "";
    let since = Date.now();
    await until(() => {
      const now = screen().join("\n");
      if (now !== shown) since = Date.now();
      shown = now;
      return isGone() || (now.trim() !== "" && Date.now() - since > stillMs);
    });
    return shown.replaceAll(basename(root), "dialogs-000000").split("\n");
  } finally {
    if (!gone) pty.kill("SIGKILL");
    await exited;
    terminal.dispose();
    await model.close();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + longestMs;
  while (!holds() && Date.now() < deadline) await sleep(50);
}

function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

async function save(fixture: {
  readonly agent: string;
  readonly version: string;
  readonly dialogs: unknown;
}): Promise<void> {
  const path = join(target, `${fixture.agent}-${fixture.version}.json`);
  await writeFile(path, `${JSON.stringify(fixture, null, 2)}\n`);
}

const [folder, only, onlyScene] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder with the installed agents.");
await mkdir(target, { recursive: true });
for (const name of (await readdir(folder)).toSorted()) {
  const [, packageName = "", version = ""] = /^(.+?)-(\d+\.\d+\.\d+)$/.exec(name) ?? [];
  const template = builtInTemplates.find(
    ({ releases }) => releases?.npmPackage.replace("@", "").replace("/", "-") === packageName,
  );
  if (template === undefined || (only !== undefined && only !== name)) continue;
  const binary = await binaryOf(template, join(folder, name));
  const dialogs: { name: string; lines: readonly string[] }[] = [];
  for (const [scene, how] of Object.entries(scenes[template.name] ?? {})) {
    if (onlyScene !== undefined && onlyScene !== scene) continue;
    process.stderr.write(`${name} ${scene}\n`);
    const lines = withoutBlankEnd(await record(template, binary, how));
    dialogs.push({ name: scene, lines });
    if (onlyScene !== undefined) process.stdout.write(`${lines.join("\n")}\n`);
    else await save({ agent: template.name, version, dialogs });
  }
}
