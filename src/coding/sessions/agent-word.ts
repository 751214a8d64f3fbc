import type { Clock } from "../../core/clock.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate, Environment } from "../agents/template.ts";
import { composerOnScreen } from "./deliver.ts";
import type { HookReports } from "./hook-reports.ts";
import type { Identity } from "./identity.ts";
import type { TranscriptFollower } from "./transcript-follower.ts";

/** What {@link AgentWord} asks. */
export interface AgentWordDeps {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  readonly env: Environment;
  readonly identity: Identity;
  readonly reports: HookReports;
  readonly transcript: TranscriptFollower;
  readonly host: TerminalHostClient;
  readonly clock: Clock;
}

// A state file that says "working" while hooks and transcript say that no turn runs is believed this long.
const workingBelievedMs = 10_000;

/** What an agent itself says of its state, beside its hooks: its state file, and its screen where it keeps none. */
export class AgentWord {
  readonly #deps: AgentWordDeps;
  /** Since when the agent's state file says that a turn runs, while nothing else does. */
  #workingSince: number | null = null;

  constructor(deps: AgentWordDeps) {
    this.#deps = deps;
  }

  /** What the agent's own state file says, where it keeps one. */
  says(): ReturnType<AgentTemplate["liveState"]> {
    const { template, identity, pid, env } = this.#deps;
    return template.liveState(identity.record.sessionId, { pid, env });
  }

  /** A turn runs by other reports too: the next time that only the state file says so is another time. */
  onTurn(): void {
    this.#workingSince = null;
  }

  /** Whether a prompt may be typed now: no dialog is open, and no turn runs that its hook has yet to tell of. */
  async letsType(): Promise<boolean> {
    const told = await this.says();
    if (told !== "working") {
      this.#workingSince = null;
      return told !== "waiting";
    }
    const now = this.#deps.clock.now();
    this.#workingSince ??= now;
    return now - this.#workingSince > workingBelievedMs;
  }

  /** What is left of a dialog that was open; null while it may still be. */
  async afterDialog(): Promise<"working" | "idle" | null> {
    const told = await this.says();
    if (told === "waiting") return null;
    return told ?? ((await this.#restsBySight()) ? "idle" : null);
  }

  /** Where no state file tells: the transcript says that no turn runs, and the composer shows, which a dialog would cover. */
  async #restsBySight(): Promise<boolean> {
    const { transcript, host, reports } = this.#deps;
    await transcript.refresh();
    const kind = transcript.summary?.lastTurn.kind ?? "open";
    return kind !== "open" && (await composerOnScreen(host, this.#deps)) && reports.silent;
  }
}
