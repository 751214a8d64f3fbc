import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import type { AgentTemplate } from "../../src/agents/template.ts";
import { newUuid } from "../../src/core/ids.ts";
import type { World } from "./gateway.ts";

/** An agent that a person runs in a terminal outside the gateway, with the same state folder. */
export interface OutsideAgent {
  readonly pid: number;
  /** Null until the agent has chosen its own. */
  sessionId(): Promise<string | null>;
  screen(): readonly string[];
  write(data: string): void;
  /** Kills it. Idempotent. */
  close(): Promise<void>;
}

/** Starts it as its template plans it, without hooks, so that nothing is reported to the gateway. */
export async function startOutside(
  world: World,
  { template, binary }: { readonly template: AgentTemplate; readonly binary: string },
  prompt: string,
): Promise<OutsideAgent> {
  const launchDir = join(world.root, `outside-${newUuid()}`);
  await mkdir(launchDir, { mode: 0o700 });
  const id = newUuid();
  const env = { ...world.env, TERM: "xterm-256color" };
  const plan = await template.plan({
    kind: "start",
    sessionId: id,
    dir: world.repository,
    prompt,
    model: null,
    systemPrompt: null,
    permissionMode: "ask",
    binary,
    env,
    launchDir,
    hookCommand: "true",
    permissionTimeoutMs: 10_000,
    trustDir: true,
  });
  const [program, ...args] = plan.argv;
  const terminal = new xterm.Terminal({ cols: 120, rows: 40, scrollback: 100, allowProposedApi: true });
  const pty = spawn(program, args, { cols: 120, rows: 40, cwd: world.repository, env: { ...env, ...plan.env } });
  pty.onData((data) => terminal.write(data));
  terminal.onData((data) => pty.write(data));
  let open = true;
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  void exited.then(() => (open = false));
  return {
    pid: pty.pid,
    sessionId: async () =>
      template.idRegime === "assigned" ? id : template.discoverSessionId({ pid: pty.pid, env: world.env }),
    screen: () => {
      const buffer = terminal.buffer.active;
      return Array.from({ length: terminal.rows }, (_, row) =>
        (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
      );
    },
    write: (data) => {
      if (open) pty.write(data);
    },
    async close() {
      if (open) pty.kill("SIGKILL");
      await exited;
      terminal.dispose();
    },
  };
}
