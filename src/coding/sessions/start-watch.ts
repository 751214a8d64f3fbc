import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate, Environment } from "../agents/template.ts";

// OpenCode waits for a minute where one that was killed has left a lock (measured), and then begins.
const emptyStartMs = 90_000;
// Its first start, with no way to the registry, took 108 s of an empty screen (measured).
const longestEmptyMs = 300_000;
// Looks come every second or so; in a longer pause the machine slept, and the agent with it.
const longestPauseMs = 10_000;

/** What a {@link StartWatch} works with. */
export interface StartWatchDeps {
  readonly host: Pick<TerminalHostClient, "look" | "end">;
  readonly clock: Clock;
  readonly log: Log;
  readonly terminalId: string;
  readonly pid: number;
  readonly env: Environment;
  readonly template: Pick<AgentTemplate, "name" | "composerPainted" | "hasHung">;
}

/** Looks at the screen of an agent that boots. One that has hung before it painted anything is ended: its start has failed. */
export class StartWatch {
  readonly #deps: StartWatchDeps;
  #lookedAt: number;
  #emptyMs = 0;

  constructor(deps: StartWatchDeps) {
    this.#deps = deps;
    this.#lookedAt = deps.clock.now();
  }

  /** Whether the composer is on the screen. */
  async isReady(): Promise<boolean> {
    const { host, clock, log, terminalId, template, pid } = this.#deps;
    const { lines } = await host.look(terminalId);
    if (template.composerPainted(lines)) return true;
    if (template.hasHung === undefined || lines.some((line) => line.trim() !== "")) return false;
    const now = clock.now();
    this.#emptyMs += Math.min(now - this.#lookedAt, longestPauseMs);
    this.#lookedAt = now;
    if (this.#emptyMs < emptyStartMs) return false;
    if (this.#emptyMs < longestEmptyMs && !template.hasHung(this.#deps)) return false;
    log.warn({ agent: template.name, pid }, "ending an agent that has hung at its start");
    await host.end(terminalId);
    return false;
  }
}
