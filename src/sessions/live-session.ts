import type { AgentTemplate, PermissionAnswer } from "../agents/index.ts";
import { type ChangeSignal, createChangeSignal, type WaitLimits } from "../core/change-signal.ts";
import { hasCode } from "../core/errors.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import type { PendingPermission } from "../wire/coding.ts";
import { type ActivityState, isResting } from "./activity.ts";
import type { Outbox } from "./outbox.ts";
import { SessionActor, type WrittenLimits } from "./session-actor.ts";
import type { SessionPublisher } from "./session-events.ts";
import type { LiveSessionDeps, LiveSessionInput } from "./session-sensors.ts";
import type { SessionRecord } from "./session-store.ts";
import { composerText, unlessGone } from "./submit.ts";
import { createTurnWatch } from "./turn-files.ts";

// Often enough to notice a change within half a second without a hook. Nothing is polled while an agent is idle.
const tickMs = 250;
// The host reports an exit after it has read the terminal's last output.
const noticeMs = 10_000;

/** A live agent: its process, its record, what it is doing, and the prompts on their way to it. */
export class LiveSession {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  readonly #deps: LiveSessionDeps;
  readonly #actor: SessionActor;
  readonly #publisher: SessionPublisher;
  readonly #changes: ChangeSignal;
  readonly #turnWatch: ReturnType<typeof createTurnWatch>;
  #exit: TerminalExit | "unknown" | null = null;
  #begun: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  #cancelTick = (): void => undefined;
  #closed = false;
  #warnings: readonly string[] = [];

  constructor(deps: LiveSessionDeps, input: LiveSessionInput) {
    this.#deps = deps;
    this.template = input.template;
    this.terminalId = input.terminalId;
    this.pid = input.pid;
    const changes = createChangeSignal(deps.clock);
    const notify = (): void => {
      this.#publisher.look();
      this.#turnWatch.look();
      changes.notify();
    };
    this.#changes = { ...changes, notify };
    this.#actor = new SessionActor(deps, {
      ...input,
      changes: this.#changes,
      onError: (error, message) => this.#report(error, message),
      onMoved: (at) => this.#publisher.moved(at),
    });
    this.#publisher = deps.events.publisherFor(this, input.origin);
    this.#turnWatch = createTurnWatch(this, { files: deps.turnFiles, origin: input.origin });
  }

  get record(): SessionRecord {
    return this.#actor.state.identity.record;
  }
  get state(): ActivityState {
    return this.#actor.state.activity;
  }
  get outbox(): Outbox {
    return this.#actor.outbox;
  }
  get transcriptSummary(): TranscriptSummary | null {
    return this.#actor.state.transcript.summary;
  }
  /** How the process ended; `unknown` if nothing observed it, null while it lives. */
  get exit(): TerminalExit | "unknown" | null {
    return this.#exit;
  }
  /** Problems around the agent, as sentences. Lost when the gateway restarts. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }
  warn(sentence: string): void {
    this.#warnings = [...this.#warnings, sentence];
    this.#changes.notify();
  }
  /** Whether the id is a placeholder until the agent reports its own. */
  get provisional(): boolean {
    return this.#actor.isProvisional;
  }

  /** Whether the decision on this permission can be given from here. */
  isAnswerable(permissionId: string): boolean {
    return this.#actor.isAnswerable(permissionId);
  }
  /** @returns whether the agent received the answer */
  answerPermission(permission: PendingPermission, answer: PermissionAnswer): Promise<boolean> {
    return this.#actor.answerPermission(permission, answer);
  }

  /** @returns whether the dialog accepted the choice; false if it has closed or another one is open */
  answerDialog(dialogId: string, choiceId: string): Promise<boolean> {
    return this.#actor.answerDialog(dialogId, choiceId);
  }

  /** When the agent will be ended if it stays unused, in epoch milliseconds; null while it is in use, or if it is kept running. */
  get idleEndsAt(): number | null {
    return this.#actor.idleEndsAt;
  }
  /** Whether the agent is being ended because it was idle: callers that need the session wait for {@link ended}. */
  get isRetiring(): boolean {
    return this.#actor.state.life.kind === "retiring";
  }
  /** Ends an agent that was idle for too long, unless a look shows that it is in use. */
  async retire(): Promise<void> {
    await this.#actor.retire();
    if (this.#actor.state.life.kind === "ended") await this.ended();
  }

  /** Registers a viewer of the terminal. @returns a function to call when it leaves */
  onViewer(): () => void {
    this.#actor.onViewer("attach");
    return () => this.#actor.onViewer("leave");
  }

  /** Stores whether the agent keeps running even when it is idle, and restarts its idle time. */
  keepRunning(keepRunning: boolean): Promise<void> {
    return this.#actor.keeper.patch({ keepRunning, updatedAt: this.#deps.clock.now() });
  }

  /**
   * While on, the agent asks for permissions in its own terminal: waiting hooks are released immediately, later ones as they connect. Calls
   * are counted: it turns off when every caller that turned it on has turned it off.
   */
  askInTerminal(on: boolean): void {
    this.#actor.pendingPermissions.askInTerminal(on);
  }

  /** Text that a person typed into the composer of an idle agent; "" if there is none, or if it cannot be read. */
  async draft(): Promise<string> {
    if (!isResting(this.state) || this.outbox.isSending) return "";
    return (await unlessGone(composerText(this.#deps, this), null)) ?? "";
  }

  /**
   * The wait that all callers use: resolves with true once `holds()` is true, which is checked again after every change of the session;
   * with false after `timeoutMs`, or when the signal is aborted.
   */
  until(holds: () => boolean, limits: WaitLimits): Promise<boolean> {
    return this.#changes.until(holds, limits);
  }

  /** Starts following the agent. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  async #begin(): Promise<void> {
    this.#turnWatch.look();
    await this.#publisher.begin();
    await this.#actor.sensors.begin();
    this.#publisher.caughtUp();
    this.#turnWatch.caughtUp();
    this.#tick();
  }

  #tick(): void {
    if (this.#closed || this.#exit !== null) return;
    const look = this.#actor.sensors.needsLook ? this.#actor.sensors.look() : Promise.resolve();
    void look
      .then(() => {
        this.#publisher.look();
        this.#turnWatch.look();
      })
      .catch((error: unknown) => this.#report(error, "cannot check the state of a session"))
      .finally(() => {
        if (!this.#closed && this.#exit === null) this.#cancelTick = this.#deps.clock.after(tickMs, () => this.#tick());
      });
  }

  /** Waits until the transcript has the end of a turn that has just ended: agents write their last lines a moment after their hook. */
  untilWritten(limits: WrittenLimits): Promise<void> {
    return this.#actor.untilWritten(limits);
  }

  /** The process has ended: reads the last hooks and lines, and records how it ended. */
  onExit(exit: TerminalExit | null, lastScreen: string | null): Promise<void> {
    this.#ending ??= this.#settle(exit, lastScreen);
    return this.#ending;
  }

  /** Resolves when the end of a session whose process is gone has been stored. */
  async ended(): Promise<void> {
    await this.#changes.until(() => this.#exit !== null, { timeoutMs: noticeMs });
    await this.#ending?.catch((error: unknown) => this.#report(error, "cannot store how a session ended"));
  }

  async #settle(exit: TerminalExit | null, lastScreen: string | null): Promise<void> {
    this.#exit = exit ?? "unknown";
    this.#actor.end();
    this.#cancelTick();
    try {
      await this.#readLast().catch((error: unknown) => this.#report(error, "cannot read the end of a session"));
      await this.outbox.onEnded(exit);
      await this.#publisher.ending();
      await this.#actor.keeper.patch({
        terminalId: null,
        exitCode: exit?.exitCode ?? null,
        signal: exit?.signal ?? null,
        endedAfterIdleMs: this.#idleMs,
        // If the agent did its work, its transcript shows what happened; if it never started, only its screen does.
        lastScreen: this.transcriptSummary === null || this.state.promptsTaken === 0 ? lastScreen : null,
        updatedAt: this.#deps.clock.now(),
      });
      this.#publisher.ended();
    } finally {
      await this.close();
    }
  }

  get #idleMs(): number | null {
    const { life } = this.#actor.state;
    return life.kind === "running" ? null : life.idleMs;
  }

  /** Reads the last hooks and lines. A process may end before it is followed. */
  async #readLast(): Promise<void> {
    await this.#begun?.catch((error: unknown) => this.#report(error, "a session that was not being followed ended"));
    await this.#actor.readLast();
  }

  /** Stops following; the agent keeps running. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#publisher.close();
    this.#cancelTick();
    await this.#actor.close();
    this.#changes.notify();
  }

  #report(error: unknown, message: string): void {
    // The exit of a terminal that ended during a look is reported separately.
    if (hasCode(error, "terminal_gone")) return;
    this.#deps.log.warn({ sessionId: this.record.sessionId, error }, message);
  }
}
