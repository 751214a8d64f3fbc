import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentRegistry } from "../agents/index.ts";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { silentLog } from "../core/log.ts";
import type { SmokeResult } from "../doctor/index.ts";
import { connectTerminalHost } from "../terminal-host/client.ts";
import { packageVersion } from "./version.ts";

/** Many times what an agent needs on an idle machine; it may wait for the network. */
const readyWithinMs = 60_000;
const lookAgainMs = 100;
/** Longer than the host's check for idleness, so that it does not exit before the terminal is requested. */
const idleExitMs = 2_000;
const endGraceMs = 1_000;

/**
 * Starts the agent as a session would, in an empty folder and under a separate terminal host, waits for its composer, and ends it.
 * No prompt is sent.
 */
export async function smokeStart(
  agents: Pick<AgentRegistry, "resolve" | "environmentOf">,
  name: string,
): Promise<SmokeResult> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "postern-smoke-")));
  try {
    const { template, binary } = await agents.resolve(name);
    const [dir, launchDir] = [join(root, "project"), join(root, "launch")];
    await Promise.all([dir, launchDir].map((folder) => mkdir(folder, { mode: 0o700 })));
    const env = agents.environmentOf(template);
    const sessionId = newUuid();
    const plan = await template.plan({
      ...{ kind: "start", sessionId, dir, launchDir, binary, env, trustDir: true },
      ...{ prompt: null, model: null, systemPrompt: null, permissionMode: "ask" },
      ...{ hookCommand: "true", permissionTimeoutMs: 1_000 },
    });
    const host = await connectTerminalHost({
      ...{ socketPath: join(root, "host.sock"), stateDir: join(root, "host"), idleExitMs },
      ...{ log: silentLog, clock: systemClock, version: packageVersion },
    });
    try {
      const startedAt = systemClock.now();
      const terminalId = newUuid();
      const place = { cwd: dir, env: { ...env, ...plan.env }, cols: 120, rows: 40, keepRecording: false };
      await host.spawn({ terminalId, leaseKey: terminalId, argv: plan.argv, ...place });
      try {
        return await untilReady();
      } finally {
        await host.end(terminalId, { graceMs: endGraceMs });
      }

      async function untilReady(): Promise<SmokeResult> {
        for (;;) {
          const { lines } = await host.look(terminalId);
          const afterMs = systemClock.now() - startedAt;
          if (template.composerPainted(lines)) return { started: true, afterMs };
          const exit = (await host.list()).find((info) => info.terminalId === terminalId)?.exit ?? null;
          if (exit !== null)
            return { started: false, reason: `It exited with code ${exit.exitCode}${lastOutput(lines)}.` };
          if (afterMs > readyWithinMs) {
            return { started: false, reason: `Not ready within ${readyWithinMs / 1000} s${lastOutput(lines)}.` };
          }
          await systemClock.sleep(lookAgainMs);
        }
      }
    } finally {
      await host.close();
    }
  } catch (error) {
    return { started: false, reason: messageOf(error) };
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

const maxOutputLength = 200;

function lastOutput(lines: readonly string[]): string {
  const text = lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
  return text === "" ? "" : `; its last screen: ${text.slice(-maxOutputLength)}`;
}
