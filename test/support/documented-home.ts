import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { backUp, openCommandStores, restore } from "../../src/app/command-stores.ts";
import { type Config, loadConfig } from "../../src/app/config.ts";
import { diagnose } from "../../src/app/diagnose.ts";
import { gatewaySocketPath } from "../../src/app/environment.ts";
import { lookAtMachine } from "../../src/app/gateway-process.ts";
import { createService } from "../../src/app/service.ts";
import { findInstalledParts } from "../../src/app/uninstall.ts";
import { systemClock } from "../../src/core/clock.ts";
import { sendSignal } from "../../src/platform/processes.ts";
import { startPty } from "../../src/terminal-host/pty.ts";
import { createReadScheduler } from "../../src/terminal-host/read-scheduler.ts";
import { scopes } from "../../src/wire/access.ts";
import { installAgents } from "../../tools/install-agents.ts";
import { startModelServer } from "../model-server/model-server.ts";
import { agentEngine } from "./agent-engine.ts";
import { sharedCompileCache } from "./compile-cache.ts";
import { type ApiClient, createApiClient, endTerminalHost } from "./gateway.ts";
import { runCommand } from "./run-cli.ts";
import { makeTestFolder } from "./test-folder.ts";
import { startTypedCommands } from "./typed-commands.ts";

const run = promisify(execFile);
const ownBin = resolve(import.meta.dirname, "../../bin/postern.js");
/** The gateway's address, as in the documentation. */
export const address = "http://localhost:7177";
const patience = { timeout: 45_000, interval: 50 };
const everyScope = scopes.join(",");

/** A user's home with only `~/code/project`, a repository. Both agents are on PATH, and use only the scripted model. */
export interface DocumentedHome {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  /** As the owner. */
  readonly token: () => Promise<string>;
  readonly api: () => Promise<ApiClient>;
  /** Starts the gateway with this line, instead of the running one, and waits until it listens. Each line starts it only once. */
  serve(command: string, cwd: string): Promise<void>;
  /** `postern serve` with an agent that is set up, unless a gateway runs. */
  requireGateway(): Promise<void>;
  /** Ends the gateway and its terminals, so that nothing uses the state folder. */
  stop(): Promise<void>;
  /** Runs it in a terminal and types `keys` as soon as it shows `at`, each time or once; resolves with its exit code. */
  typeInTerminal(
    command: string,
    typing: { readonly at: RegExp; readonly keys: string; readonly once?: true; readonly cwd: string },
  ): Promise<number>;
  /** Runs it until it is ended; `seen` is its output. */
  follow(command: string, cwd: string): { readonly seen: () => string };
  close(): Promise<void>;
}

/** Makes the home; nothing runs in it. */
export async function makeDocumentedHome(): Promise<DocumentedHome> {
  const home = makeTestFolder("docs");
  const project = join(home, "code", "project");
  await makeRepository(project);
  const tools = makeTestFolder("docs-bin");
  await plantServiceManager(tools);
  const [modelServer, agents] = await Promise.all([startModelServer(), installAgents(() => undefined)]);
  const env = environment({ home, modelUrl: modelServer.url, path: [tools, agents.binDir] });
  const config = (): Config => loadConfig({ ...env, POSTERN_HOME: join(home, ".postern") });
  const ports = {
    socketPath: async () => gatewaySocketPath(config()),
    openStores: () => openCommandStores(config()),
    diagnose: (options: { readonly smoke: boolean }) => diagnose(config(), options),
    service: async () => createService(join(tools, "postern"), config()),
    machine: () => lookAtMachine(config()),
    installedParts: () =>
      findInstalledParts(config(), { service: createService(join(tools, "postern"), config()), program: ownBin }),
    backUp: (options: Parameters<typeof backUp>[0]) => backUp(options, config()),
    restore: (options: Parameters<typeof restore>[0]) => restore(options, { POSTERN_HOME: join(home, ".postern") }),
    token: async () => null,
  };
  const typed = await startTypedCommands(tools, ports);
  const started = new Set<ChildProcess>();
  const served = new Set<string>();
  let gateway: ChildProcess | null = null;
  let token: string | null = null;
  const shellEnv = { ...env, PATH: `${typed.binDir}:${env["PATH"] ?? ""}` };

  const command = async (argv: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(argv, { ports });
    if (code !== 0) throw new Error(`postern ${argv.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  function begin(line: string, cwd: string) {
    const child = spawn("sh", ["-c", line], { cwd, env: shellEnv, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    started.add(child);
    let seen = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (seen += text));
    return { child, seen: () => seen };
  }
  async function endGateway(): Promise<void> {
    if (gateway !== null) await end(gateway);
    gateway = null;
  }
  const ownerToken = async (): Promise<string> =>
    (token ??= await command(["token", "create", "--name", "owner", "--scopes", everyScope]));

  const it: DocumentedHome = {
    home,
    project,
    env: shellEnv,
    token: ownerToken,
    api: async () => createApiClient(address, await ownerToken()),
    async serve(line, cwd) {
      if (gateway !== null && served.has(line)) return;
      await endGateway();
      const { child, seen } = begin(line, cwd);
      gateway = child;
      const isUp = (): boolean => child.exitCode !== null || /listening on http\S+:7177/.test(seen());
      await expect.poll(isUp, patience).toBe(true);
      served.add(line);
      expect(child.exitCode, `${line}\n${seen()}`).toBe(null);
    },
    async requireGateway() {
      if (gateway !== null) return;
      await command(["coding", "setup", "--yes", "--default", "claude-code"]);
      await it.serve("postern serve", home);
    },
    async stop() {
      await endGateway();
      await endTerminalHost(join(home, ".postern"));
    },
    async typeInTerminal(line, { at, keys, once, cwd }) {
      const decoder = new TextDecoder();
      let fresh = "";
      let all = "";
      const over = Promise.withResolvers<number>();
      let isOver = false;
      let hasTyped = false;
      // Not by node-pty's own wrapper: that one writes later, when the terminal may be closed and its descriptor another file's.
      const pty = startPty(
        { argv: ["/bin/sh", "-c", line], cwd, env: shellEnv, cols: 100, rows: 30 },
        {
          clock: systemClock,
          turns: createReadScheduler(systemClock),
          onOutput(data) {
            const text = decoder.decode(data, { stream: true });
            all += text;
            fresh += text;
            if (!at.test(fresh) || (once && hasTyped)) return;
            fresh = "";
            hasTyped = true;
            pty.write(Buffer.from(keys)).catch(() => undefined); // it has ended
          },
          onEnd({ exitCode }) {
            isOver = true;
            over.resolve(exitCode);
          },
        },
      );
      const late = new Promise<never>((_none, fail) => {
        setTimeout(() => fail(new Error(`Still in its terminal: ${line}\n${all}`)), patience.timeout).unref();
      });
      return Promise.race([over.promise, late]).finally(() => {
        if (!isOver) sendSignal(-pty.pid, "SIGKILL");
      });
    },
    follow: begin,
    async close() {
      await it.stop();
      for (const child of started) await end(child);
      await Promise.all([typed.close(), modelServer.close()]);
      for (const folder of [home, tools])
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
  return it;
}

/** As Ctrl-C does it: to all of the line. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise<void>((done) => void child.once("exit", () => done()));
  process.kill(-child.pid, "SIGINT");
  await ended;
}

function environment(place: {
  readonly home: string;
  readonly modelUrl: string;
  readonly path: readonly string[];
}): Readonly<Record<string, string>> {
  return {
    PATH: [...place.path, dirname(process.execPath), process.env["PATH"] ?? ""].join(":"),
    HOME: place.home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    NODE_COMPILE_CACHE: sharedCompileCache(),
    ...agentEngine,
    ANTHROPIC_BASE_URL: place.modelUrl,
    ANTHROPIC_API_KEY: "sk-scripted-anthropic-0000000000000000",
    OPENAI_BASE_URL: `${place.modelUrl}/v1`,
    OPENAI_API_KEY: "sk-scripted-openai-0000000000000000",
  };
}

async function makeRepository(dir: string): Promise<void> {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "README.md"), "# Project\n");
  await run("git", ["init", "--quiet", "--initial-branch=main", dir]);
  await run("git", ["-C", dir, "add", "README.md"]);
  await run("git", ["-C", dir, ...identity, "commit", "--quiet", "--message=Begin"]);
}

/** Test machines have no systemd session; its use is tested next to the source. */
async function plantServiceManager(dir: string): Promise<void> {
  const script = `#!/bin/sh
case "$2" in show) printf 'LoadState=loaded\\nUnitFileState=enabled\\nActiveState=active\\nMainPID=4711\\n' ;; esac
`;
  await writeFile(join(dir, "systemctl"), script);
  await chmod(join(dir, "systemctl"), 0o755);
}
