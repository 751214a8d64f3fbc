import type { AgentTemplate, Environment, ObservedState } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import { processRow, startedAt } from "../platform/process-table.ts";
import { descendantsOf } from "../platform/processes.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { FoundAtRest } from "./session-state.ts";
import { composerText, unlessGone, writeAsSeen } from "./submit.ts";

interface RestingTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
}

/** The agent at rest that may be ended. */
export interface RestingAgent extends RestingTerminal {
  readonly pid: number;
  readonly env: Environment;
  readonly observed: ObservedState | null;
  readonly transcriptPath: string | null;
  readonly firstPromptAt: number | null;
}

interface Deps {
  readonly host: Pick<TerminalHostClient, "look" | "writeIfUnchanged" | "write" | "end">;
  readonly clock: Clock;
}

// Claude Code and Codex end within a second of their exit keys (measured).
const ownExitMs = 5_000;

// The agent's own servers start with it. A person can start a task in its terminal without a prompt.
const ownStartMs = 10_000;

/** Looks for reasons not to end an agent at rest. */
export async function lookAtRest(deps: Deps, agent: RestingAgent): Promise<FoundAtRest> {
  const { template, observed, transcriptPath } = agent;
  const reports = template.readTitle !== undefined || template.liveStatePath(agent) !== null;
  return {
    observed: observed ?? (reports ? "unknown" : "none"),
    draft: await unlessGone(composerText(deps, agent), null),
    runsTask: observed?.inBackground === undefined && runsTask(agent, deps.clock.now()),
    canResume: transcriptPath !== null && (await template.canResume?.(transcriptPath)) !== false,
  };
}

/** Whether a process runs that the agent started after its first prompt, such as a background command. Its servers start with it. */
function runsTask({ pid, firstPromptAt }: RestingAgent, now: number): boolean {
  const own = processRow(pid);
  const since = firstPromptAt ?? (own === undefined ? null : startedAt(own, now) + ownStartMs);
  if (since === null) return false;
  return descendantsOf(pid).some((row) => !row.zombie && startedAt(row, now) > since);
}

/**
 * Ends an agent with its own exit keys if its composer is empty, and by signals if that takes too long. @returns false if its composer is
 * not empty; then nothing was done
 */
export async function endGently(
  deps: Deps,
  agent: RestingTerminal & { readonly changes: ChangeSignal },
  ended: () => boolean,
): Promise<boolean> {
  if (!(await unlessGone(typeExit(deps, agent), true))) return false;
  if (await agent.changes.until(ended, { timeoutMs: ownExitMs })) return true;
  await unlessGone(deps.host.end(agent.terminalId), null);
  return true;
}

/** @returns whether the exit keys were typed, or the agent has none */
async function typeExit(deps: Deps, { terminalId, template }: RestingTerminal): Promise<boolean> {
  const { exitKeys: [first, ...others] = [null], composer, paste } = template;
  if (first === null) return true;
  const seen = await writeAsSeen(deps, terminalId, (screen) => (composer?.text(screen) === "" ? first : null));
  if (seen === null) return false;
  for (const keys of others) {
    await deps.clock.sleep(paste.enterDelayMs);
    await deps.host.write(terminalId, keys);
  }
  return true;
}
