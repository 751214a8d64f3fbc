import type { AgentTemplate, Environment, HookClaim, ObservedState } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { TranscriptSummary, Transcripts } from "../transcripts/index.ts";
import { HookReports, type ReportedLine } from "./hook-reports.ts";
import { isProvisional } from "./identity.ts";
import type { PermissionHooks } from "./permission-hooks.ts";
import type { StandingRules } from "./ports.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { type RecordKeeper, SessionSwitchDetector } from "./record-keeper.ts";
import type { AskedPermission, RuleRequestOf } from "./rule-requests.ts";
import { isComputing, lookAtScreen } from "./screen-look.ts";
import { asksProcess } from "./screen-view.ts";
import type { SessionEvents } from "./session-events.ts";
import {
  type FoundPrompt,
  hooksAreSilent,
  isUnsettled,
  needsLook,
  needsScreen,
  type SessionMessage,
  type SessionState,
  seeksPrompt,
  sentSince,
} from "./session-state.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";
import { unlessGone } from "./submit.ts";
import { TranscriptFollower } from "./transcript-follower.ts";
import type { TurnFiles } from "./turn-files.ts";

/** What a live session depends on. */
export interface LiveSessionDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly host: TerminalHostClient;
  readonly transcripts: Transcripts;
  readonly events: SessionEvents;
  readonly hooks: PermissionHooks;
  /** How long a hook waits for the decision on a permission; after that, only the agent's own dialog can answer it. */
  readonly permissionAnswerMs: number;
  /** How long an agent can be idle before it is ended; null keeps all agents running. */
  readonly idleTimeoutMs: number | null;
  /** Standing rules, which answer permission requests before they are shown. Missing if there are none. */
  readonly rules?: StandingRules;
  readonly ruleRequestOf?: RuleRequestOf;
  /** Records the files when a turn begins. Missing if nothing does. */
  readonly turnFiles?: TurnFiles;
  readonly clock: Clock;
  readonly log: Log;
}

/** One session whose process lives, and what this gateway knows about it. */
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

/** The same, with a handler for errors that do not stop any caller. */
export interface SensorsInput extends LiveSessionInput {
  readonly onError: (error: unknown, message: string) => void;
}

/** The session that a {@link SessionSensors} reports to. */
export interface SensedSession {
  readonly keeper: RecordKeeper;
  readonly state: () => SessionState;
  readonly post: (message: SessionMessage) => Promise<void>;
  /** Called with the newly read part of the transcript: null if there is no file yet. */
  readonly onRead: (summary: TranscriptSummary | null) => void;
  /** How a standing rule answered this permission request; undefined if none did. */
  readonly ruled: (asked: AskedPermission) => Promise<"allow" | "deny" | undefined>;
  /** The permissions whose hooks wait for a decision. */
  readonly waitingHooks: () => readonly string[];
  /** Looks for prompts in the newly read part. */
  readonly confirm: () => Promise<void>;
  /** Gives up prompts that have waited for too long. */
  readonly tick: () => Promise<void>;
}

/** Reads what a live agent shows: its hooks, transcript, state file, window title and screen. It reports facts, never conclusions. */
export class SessionSensors {
  readonly transcript: TranscriptFollower;
  /** Polls what sends no reports: the agent's own files, and its screen. */
  readonly look = oneAtATime(() => this.#look());
  readonly #deps: LiveSessionDeps;
  readonly #input: SensorsInput;
  readonly #actor: SensedSession;
  readonly #reports: HookReports;
  readonly #moves: SessionSwitchDetector;
  #unwatchState = (): void => undefined;
  /** Whether the inbox was read up to its end at the time this gateway started. */
  #caughtUp = false;

  constructor(deps: LiveSessionDeps, input: SensorsInput, actor: SensedSession) {
    this.#deps = deps;
    this.#input = input;
    this.#actor = actor;
    const { template, onError } = input;
    const { keeper } = actor;
    this.#reports = new HookReports({
      ...deps,
      ...input,
      keeper,
      onReport: (claim, line) => this.#onReport(claim, line),
      onAnswered: (note) => actor.post({ kind: "answered", ...note }),
      onError: (error) => onError(error, "cannot read a hook inbox"),
    });
    this.transcript = new TranscriptFollower({
      transcripts: deps.transcripts,
      template,
      onRead: actor.onRead,
      onChange: () => this.#onTranscript(),
      onError: (error) => onError(error, "cannot follow a transcript"),
    });
    this.#moves = new SessionSwitchDetector({ ...deps, ...input, keeper, onDue: () => this.#lookSoon() });
  }

  get #isProvisional(): boolean {
    return isProvisional(this.#actor.state().identity, this.#input.template);
  }

  /** Reads the whole inbox of this launch first, to restore the state of a session that was found. */
  async begin(): Promise<void> {
    const { origin, template } = this.#input;
    const { transcriptPath, sessionId } = this.#actor.keeper.record;
    if (transcriptPath !== null) await this.transcript.follow(transcriptPath);
    await this.#actor.post({ kind: "turns_counted", as: "resumed" });
    const open = await this.#deps.queue.open(sessionId);
    if (origin === "launched") {
      await this.#actor.post({ kind: "prompt", message: { kind: "found", prompts: open, sentBy: "argv" } });
    }
    await this.#reports.open();
    this.#caughtUp = true;
    if (origin === "found") {
      await this.transcript.refresh();
      await this.#actor.post({ kind: "caught_up", open: await Promise.all(open.map((prompt) => this.#found(prompt))) });
    }
    await this.#followMove();
    const statePath = template.liveStatePath(this.#input);
    if (statePath !== null) this.#unwatchState = this.#deps.transcripts.watch(statePath, () => this.#lookSoon());
  }

  async #found(prompt: FoundPrompt["prompt"]): Promise<FoundPrompt> {
    if (prompt.state !== "sent") return { prompt, turn: null };
    return { prompt, turn: await this.transcript.findPromptSince(prompt.prompt, sentSince(prompt)) };
  }

  /** The agent's state file has changed. */
  #lookSoon(): void {
    this.look().catch((error: unknown) => this.#input.onError(error, "cannot check the state of a session"));
  }

  async #onReport({ event, transcriptPath }: HookClaim, line: ReportedLine): Promise<void> {
    if (transcriptPath !== null) await this.#bindTranscript(transcriptPath);
    // Questions from before this gateway started were already shown, so standing rules do not apply to them.
    const isNew = event.kind === "permission_asked" && (this.#caughtUp || this.#input.origin === "launched");
    const ruled = isNew ? await this.#actor.ruled({ ...event, permissionId: line.permissionId }) : undefined;
    await this.#actor.post({ kind: "reported", event, line, ...(ruled && { ruled }) });
  }

  async #bindTranscript(path: string): Promise<void> {
    if (path === this.transcript.path) return;
    const { sessionId } = this.#actor.keeper.record;
    await this.#actor.post({ kind: "transcript_bound" });
    await this.transcript.follow(path);
    await this.#actor.keeper.patch({ transcriptPath: path }, sessionId);
  }

  /** Finds the transcript by the session's id if no hook has reported its path. */
  async #findTranscript(): Promise<void> {
    const { template, env } = this.#input;
    const { sessionId, transcriptPath } = this.#actor.keeper.record;
    // The record of a session that the process has just started has no transcript yet, although the previous session's is still followed.
    if (transcriptPath !== null || this.#isProvisional) return;
    const path = await template.findTranscript(sessionId, env);
    if (path !== null && this.#actor.keeper.record.sessionId === sessionId) await this.#bindTranscript(path);
  }

  /** The process may have switched to another session in its terminal. */
  async #followMove(): Promise<void> {
    const path = await this.#moves.follow(this.transcript.path);
    if (path === null) return;
    await this.#bindTranscript(path);
    await this.#actor.post({ kind: "turns_counted", as: "working" });
    await this.#onTranscript();
  }

  async #onTranscript(): Promise<void> {
    const { template } = this.#input;
    await this.#actor.confirm();
    const text = this.#actor.state().prompts.sent?.text ?? null;
    const { turnsWhenIdle } = this.#actor.state().transcript;
    const isSought = text !== null && seeksPrompt(this.#actor.state(), template, this.#deps.clock.now());
    const promptTaken = isSought && (await this.transcript.hasPrompt(text, turnsWhenIdle)) ? text : null;
    const asks = this.#actor.state().activity.permissions.length > 0;
    const screen = asks ? await unlessGone(lookAtScreen(this.#deps, this.#input), null) : null;
    await this.#actor.post({ kind: "transcript_changed", promptTaken, dialog: screen?.dialog ?? null });
  }

  /** Whether something may have happened that nothing has reported. */
  get needsLook(): boolean {
    return this.#isProvisional || this.#moves.isDue || needsLook(this.#actor.state(), this.#deps.clock.now());
  }

  async #look(): Promise<void> {
    if (this.#actor.state().life.kind === "ended") return;
    const { template, pid } = this.#input;
    const { clock } = this.#deps;
    await this.#actor.keeper.discover();
    await this.#findTranscript();
    await this.#followMove();
    if (this.#actor.state().activity.activity === "working" && hooksAreSilent(this.#actor.state(), clock.now())) {
      await this.transcript.refresh();
      await this.#onTranscript();
    }
    const file = template.readTitle === undefined ? await this.#stateFile() : null;
    const asks = this.#actor.state().activity.permissions.length > 0;
    if ((asks && file === null) || isUnsettled(this.#actor.state().prompts)) await this.transcript.refresh();
    const isDue = needsScreen(this.#actor.state(), template, clock.now());
    const screen = isDue ? await lookAtScreen(this.#deps, this.#input) : null;
    const process = screen === null ? "no" : asksProcess(this.#actor.state().screen, screen, clock.now());
    const computes = process !== "no" && isComputing(pid, process === "with_children");
    const held = this.#actor.waitingHooks();
    await this.#actor.post({ kind: "looked", look: { screen, computes, file, held } });
    await this.#actor.tick();
    await this.#actor.post({ kind: "prompt", message: { kind: "send_next" } });
  }

  /** The state in the agent's own state file or, for some agents, its window title; null when it reports none. */
  async observed(): Promise<ObservedState | null> {
    const { readTitle } = this.#input.template;
    if (readTitle === undefined) return this.#stateFile();
    const { title } = await this.#deps.host.look(this.#input.terminalId);
    const activity = title === null ? null : readTitle(title);
    return activity && { activity, since: null, hooked: false };
  }

  #stateFile(): Promise<ObservedState | null> {
    const { template, pid, env } = this.#input;
    return template.liveState(this.#actor.keeper.record.sessionId, { pid, env });
  }

  /** Reads every hook line that was written by now. */
  drainHooks(): Promise<void> {
    return this.#reports.drain();
  }

  /** Reads the transcript to its end, found by the session's id if no hook reported its path. */
  async readTranscript(): Promise<void> {
    await this.#findTranscript();
    await this.transcript.refresh();
  }

  async close(): Promise<void> {
    this.#unwatchState();
    this.#moves.close();
    this.transcript.close();
    await this.#reports.close();
  }
}
