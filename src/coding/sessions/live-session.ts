import { type ChangeSignal, createChangeSignal } from "../../core/change-signal.ts";
import { hasCode } from "../../core/errors.ts";
import { newUuid } from "../../core/ids.ts";
import type { TerminalExit } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate, Environment, HookClaim } from "../agents/template.ts";
import type { TranscriptSummary } from "../transcripts/transcript.ts";
import { type ActivityState, initialActivity, isResting, nextActivity, type Observation } from "./activity.ts";
import { AgentWord } from "./agent-word.ts";
import { catchUp } from "./catch-up.ts";
import { composerOnScreen } from "./deliver.ts";
import { HookReports } from "./hook-reports.ts";
import { Identity } from "./identity.ts";
import { promptPathBeside } from "./launch.ts";
import type { LiveSessionDeps, LiveSessionInput } from "./live-session-input.ts";
import { Outbox, type OutboxView } from "./outbox.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import type { SessionRecord } from "./session-store.ts";
import { TranscriptFollower } from "./transcript-follower.ts";
import { transcriptNews } from "./transcript-news.ts";

const transcriptLagMs = 2_000;
// Often enough to tell a change within half a second where no hook tells it, and cheap: nothing is polled while an agent is idle.
const tickMs = 250;
// The host tells an exit when it has read the terminal's last output.
const noticeMs = 10_000;

/** A live agent: its state, its transcript, its hook inbox and the prompts on their way to it. */
export class LiveSession {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  readonly outbox: Outbox;
  readonly changes: ChangeSignal;
  readonly #deps: LiveSessionDeps;
  readonly #env: Environment;
  readonly #agent: AgentWord;
  readonly #transcript: TranscriptFollower;
  readonly #origin: "launched" | "found";
  readonly #identity: Identity;
  readonly #reports: HookReports;
  #state: ActivityState = initialActivity;
  #restingSince = 0;
  /** Turns in the transcript before the newest prompt that the agent took. */
  #turnsBefore = 0;
  #exit: TerminalExit | "unknown" | null = null;
  #begun: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  #cancelTick = (): void => undefined;
  #closed = false;

  constructor(deps: LiveSessionDeps, input: LiveSessionInput) {
    this.#deps = deps;
    this.template = input.template;
    this.terminalId = input.terminalId;
    this.pid = input.pid;
    this.#env = input.env;
    this.#origin = input.origin;
    this.changes = createChangeSignal(deps.clock);
    this.#identity = new Identity(deps, input, () => this.changes.notify());
    this.#reports = new HookReports({
      ...deps,
      template: input.template,
      inboxPath: input.inboxPath,
      identity: this.#identity,
      onReport: (claim, at) => this.#onReport(claim, at),
      onError: (error) => this.#report(error, "cannot read a hook inbox"),
    });
    this.#transcript = new TranscriptFollower({
      transcripts: deps.transcripts,
      template: input.template,
      onChange: () => this.#onTranscript(),
      onError: (error) => this.#report(error, "cannot follow a transcript"),
    });
    this.#agent = new AgentWord({
      ...deps,
      ...input,
      identity: this.#identity,
      reports: this.#reports,
      transcript: this.#transcript,
    });
    const maySend = (): boolean => this.#exit === null && isResting(this.#state);
    const view: OutboxView = {
      maySend,
      maySendNow: async () => maySend() && (await this.#agent.letsType()) && maySend(),
      starting: () => this.#state.activity === "starting",
      turnCount: () => this.#transcript.turnsWhenIdle,
      turnsBeforeNext: async () => {
        await this.untilWritten();
        if (isResting(this.#state)) this.#transcript.markResumed();
        return this.#transcript.turnsWhenIdle;
      },
      wasTaken: async (text) => {
        await this.#reports.drain();
        return this.outbox.unconfirmed === text && (await this.#transcript.hasPrompt(text));
      },
      changed: () => this.changes.notify(),
      failed: (error) => this.#report(error, "cannot take a prompt to its agent"),
    };
    this.outbox = new Outbox(deps, { ...input, promptPath: promptPathBeside(input.inboxPath) }, view);
  }

  get record(): SessionRecord {
    return this.#identity.record;
  }
  get state(): ActivityState {
    return this.#state;
  }
  get transcriptSummary(): TranscriptSummary | null {
    return this.#transcript.summary;
  }
  /** How the process ended, `unknown` when nobody saw it; null while it lives. */
  get exit(): TerminalExit | "unknown" | null {
    return this.#exit;
  }
  /** Whether the id is a stand-in until the agent tells its own. */
  get provisional(): boolean {
    return this.#identity.provisional;
  }

  /** Begins to follow the agent. Reads the whole inbox of this launch first, so that a found session stands where it stood. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  async #begin(): Promise<void> {
    if (this.record.transcriptPath !== null) await this.#transcript.follow(this.record.transcriptPath);
    this.#transcript.markResumed();
    const open = await this.#deps.queue.open(this.record.sessionId);
    if (this.#origin === "launched") this.outbox.resume(open, "argv");
    await this.#reports.open();
    if (this.#origin === "found") await this.#catchUp(open);
    this.#tick();
  }

  /** A gateway that has just begun: what happened while no gateway ran is in the inbox and the transcript. */
  async #catchUp(open: readonly OpenPrompt[]): Promise<void> {
    await this.#transcript.refresh();
    const unreported = await catchUp({
      open,
      outbox: this.outbox,
      reports: this.#reports,
      transcript: this.#transcript,
    });
    if (unreported !== null && isResting(this.#state) && this.#transcript.summary?.lastTurn.kind === "open") {
      await this.#observe({ kind: "prompt_seen", prompt: unreported });
    } else if (isResting(this.#state)) {
      this.outbox.onTurnOver();
    }
    if (isResting(this.#state)) this.#transcript.markIdle();
    else this.#transcript.markWorking();
    this.#turnsBefore = this.#transcript.turnsWhenIdle;
    this.#restingSince = 0; // whatever ended, ended before we looked
    this.outbox.pump();
  }

  async #onReport({ event, transcriptPath }: HookClaim, at: number): Promise<void> {
    if (transcriptPath !== null) await this.#bindTranscript(transcriptPath);
    await this.#observe(event, at);
  }

  async #bindTranscript(path: string): Promise<void> {
    if (path === this.#transcript.path) return;
    await this.#transcript.follow(path);
    await this.#identity.patch({ transcriptPath: path });
  }

  /** By the session's id, where no hook has told the path. */
  async #findTranscript(): Promise<void> {
    if (this.#transcript.path !== null || this.provisional) return;
    const path = await this.template.findTranscript(this.record.sessionId, this.#env);
    if (path !== null) await this.#bindTranscript(path);
  }

  async #observe(event: Observation, at = this.#deps.clock.now()): Promise<void> {
    const before = this.#state;
    this.#state = nextActivity(before, event, { at, permissionId: newUuid() });
    if (!isResting(this.#state)) this.#agent.onTurn();
    const taken = event.kind === "prompt_submitted" || event.kind === "prompt_seen" ? event.prompt : null;
    if (taken !== null) {
      this.#turnsBefore = this.#transcript.turnsWhenIdle;
      await this.outbox.onPromptTaken(taken);
    }
    if (this.#state.turnsEnded > before.turnsEnded) {
      this.#restingSince = this.#deps.clock.now();
      await this.#transcript.refresh();
      this.outbox.onTurnOver();
    }
    this.#markIdle();
    if (this.#state !== before) this.changes.notify();
    this.outbox.pump();
  }

  /** What the transcript tells where no hook does: an aborted or failed turn, and everything of an agent without hooks. */
  async #onTranscript(): Promise<void> {
    const { unconfirmed } = this.outbox;
    const tells = !this.template.hasHooks || this.#reports.silent;
    const inTranscript =
      unconfirmed !== null && tells && this.#transcript.hasNewTurn && (await this.#transcript.hasPrompt(unconfirmed));
    // A hook may have told of it while we read.
    const taken = inTranscript && this.outbox.unconfirmed === unconfirmed ? unconfirmed : null;
    const news = transcriptNews({
      state: this.#state,
      transcript: this.#transcript,
      hasHooks: this.template.hasHooks,
      hooksSilent: this.#reports.silent,
      awaitsPrompt: this.outbox.unconfirmed !== null,
      promptTaken: taken,
    });
    for (const event of news) await this.#observe(event);
    this.#markIdle();
    this.changes.notify();
  }

  /** What is written while a prompt is on its way may be its turn already. */
  #markIdle(): void {
    if (isResting(this.#state) && this.outbox.unconfirmed === null) this.#transcript.markIdle();
  }

  #tick(): void {
    if (this.#closed || this.#exit !== null) return;
    const look = this.#needsLook() ? this.#look() : Promise.resolve();
    void look
      .catch((error: unknown) => this.#report(error, "cannot look after a session"))
      .finally(() => {
        if (!this.#closed && this.#exit === null) this.#cancelTick = this.#deps.clock.after(tickMs, () => this.#tick());
      });
  }

  #needsLook(): boolean {
    return (
      !isResting(this.#state) || this.provisional || this.outbox.unconfirmed !== null || this.outbox.waitingCount > 0
    );
  }

  async #look(): Promise<void> {
    if (this.provisional) await this.#identity.discover();
    await this.#findTranscript();
    if (
      this.#state.activity === "starting" &&
      this.template.readyBy === "composer" &&
      (await composerOnScreen(this.#deps.host, this))
    ) {
      await this.#observe({ kind: "composer_painted" });
    }
    if (this.#state.activity === "working" && this.#reports.silent) {
      await this.#transcript.refresh();
      await this.#onTranscript();
      if ((await this.#agent.says()) === "idle" && this.#reports.silent) await this.#observe({ kind: "turn_over" });
    }
    if (this.#state.permissions.length > 0 && this.#reports.silent) {
      const left = await this.#agent.afterDialog();
      if (left !== null) await this.#observe({ kind: "dialog_closed", activity: left });
    }
    await this.outbox.tick();
    this.outbox.pump();
  }

  /** Waits until the transcript has the end of a turn that has just ended: agents write their last lines a moment after their hook. */
  async untilWritten(signal?: AbortSignal): Promise<void> {
    const timeoutMs = this.#restingSince + transcriptLagMs - this.#deps.clock.now();
    if (!isResting(this.#state) || this.#state.turnsEnded === 0 || timeoutMs <= 0) return;
    await this.#transcript.refresh();
    const written = (): boolean => {
      const { summary } = this.#transcript;
      return summary !== null && summary.turnCount > this.#turnsBefore && summary.lastTurn.kind !== "open";
    };
    const done = (): boolean => this.#exit !== null || !isResting(this.#state) || written();
    await this.changes.until(done, { timeoutMs, signal });
  }

  /** The process has ended: the last hooks and lines are read, and the record says how. */
  onExit(exit: TerminalExit | null, lastScreen: string | null): Promise<void> {
    this.#ending ??= this.#settle(exit, lastScreen);
    return this.#ending;
  }

  /** Resolves when the end of a session whose process is gone is written down. */
  async ended(): Promise<void> {
    await this.changes.until(() => this.#exit !== null, { timeoutMs: noticeMs });
    await this.#ending?.catch((error: unknown) => this.#report(error, "cannot write down how a session ended"));
  }

  async #settle(exit: TerminalExit | null, lastScreen: string | null): Promise<void> {
    this.#exit = exit ?? "unknown";
    this.changes.notify();
    this.#cancelTick();
    try {
      await this.#readLast().catch((error: unknown) => this.#report(error, "cannot read the last of a session"));
      await this.outbox.onEnded((text) => this.#transcript.hasPrompt(text));
      await this.#identity.patch({
        terminalId: null,
        exitCode: exit?.exitCode ?? null,
        signal: exit?.signal ?? null,
        // Of an agent that did its work the transcript tells; of one that did not begin, only its screen.
        lastScreen: this.#transcript.summary === null || this.#state.promptsTaken === 0 ? lastScreen : null,
        updatedAt: this.#deps.clock.now(),
      });
    } finally {
      await this.close();
    }
  }

  /** The last hooks and lines. A process may end before we have begun to follow it. */
  async #readLast(): Promise<void> {
    await this.#begun?.catch((error: unknown) => this.#report(error, "a session ended that was not followed"));
    await this.#reports.drain();
    await this.#findTranscript();
    await this.#transcript.refresh();
  }

  /** Stops following; the agent lives on. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelTick();
    this.#transcript.close();
    await this.#reports.close();
    this.changes.notify();
  }

  #report(error: unknown, message: string): void {
    // A terminal that went while it was looked at tells its exit by itself.
    if (hasCode(error, "terminal_gone")) return;
    this.#deps.log.warn({ sessionId: this.record.sessionId, error }, message);
  }
}
