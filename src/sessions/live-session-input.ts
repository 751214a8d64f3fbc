import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Transcripts } from "../transcripts/index.ts";
import type { PermissionHooks } from "./permission-hooks.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { SessionEvents } from "./session-events.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** What a live session needs from its surroundings. */
export interface LiveSessionDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly host: TerminalHostClient;
  readonly transcripts: Transcripts;
  readonly events: SessionEvents;
  readonly hooks: PermissionHooks;
  /** How long a hook waits for the decision on a permission; then the agent's own dialog stands. */
  readonly permissionAnswerMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** One session whose process lives, and what this gateway knows of it. */
export interface LiveSessionInput {
  readonly record: SessionRecord;
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  /** Without the hook variables: where the agent keeps its files. */
  readonly env: Environment;
  readonly inboxPath: string;
  /** `launched` just now (by start or resume), or `found` alive by a gateway that has just begun. */
  readonly origin: "launched" | "found";
}
