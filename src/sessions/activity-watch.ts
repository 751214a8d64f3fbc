import type { HookClaim } from "../agents/index.ts";
import { dialogIdOf, isAbout, type PermissionAnswer, toHookDecision } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import type { PendingPermission } from "../wire/coding.ts";
import {
  type ActivityState,
  initialActivity,
  isBooting,
  isResting,
  nextActivity,
  type Observation,
  type OpenPermission,
} from "./activity.ts";
import { AgentStateReader } from "./agent-state-reader.ts";
import { catchUp } from "./catch-up.ts";
import { DialogDesk } from "./dialog-desk.ts";
import { HookReports, type ReportedLine } from "./hook-reports.ts";
import type { Identity } from "./identity.ts";
import { promptPathBeside } from "./launch.ts";
import type { LiveSessionDeps, LiveSessionInput } from "./live-session-input.ts";
import { Outbox, type OutboxView } from "./outbox.ts";
import { PendingPermissions } from "./pending-permissions.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import { ScreenWatch } from "./screen-watch.ts";
import { SessionSwitchDetector } from "./session-switch-detector.ts";
import { limitIsOver } from "./status.ts";
import { TranscriptFollower } from "./transcript-follower.ts";
import { transcriptNews } from "./transcript-news.ts";

/** What an {@link ActivityWatch} watches. */
export interface ActivityWatchInput extends LiveSessionInput {
  readonly identity: Identity;
  readonly changes: ChangeSignal;
  /** Whether the process has ended. */
  readonly isGone: () => boolean;
  readonly onError: (error: unknown, message: string) => void;
  /** Called when the state has moved, with the time of the hook that moved it; what follows from it is not done yet. */
  readonly onMoved: (at: number | null) => void;
}

/** How long a caller waits for the end of a turn in the transcript: two seconds at most. */
export interface WrittenLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const transcriptLagMs = 2_000;
// What an agent goes on with after a turn shows within this time.
const afterTurnMs = 2_000;
// It appears when the hook of its permission has ended: a start of Node, on a loaded machine some seconds.
const lateDialogMs = 30_000;
// The agent's state file tells of a dialog within half a second.
const dialogLagMs = 2_000;

/** What a live agent is doing: moved by its hooks, its transcript, its own state file and its screen, in this order. */
export class ActivityWatch {
  readonly outbox: Outbox;
  /** Which permissions can be answered from here. */
  readonly pendingPermissions: PendingPermissions;
  /** Asks what tells nothing by itself: the agent's own files, and its screen. */
  readonly look = oneAtATime(() => this.#look());
  readonly #deps: LiveSessionDeps;
  readonly #input: ActivityWatchInput;
  readonly #agent: AgentStateReader;
  readonly #transcript: TranscriptFollower;
  readonly #reports: HookReports;
  readonly #moves: SessionSwitchDetector;
  readonly #dialogs: DialogDesk;
  readonly #screen: ScreenWatch;
  #unwatchState = (): void => undefined;
  #state: ActivityState = initialActivity;
  #restingSince = 0;
  /** Permissions that went without an answer that was seen, and until when their dialog may still appear. */
  #unanswered: { readonly permissions: readonly OpenPermission[]; readonly until: number } = {
    permissions: [],
    until: 0,
  };
  /** Turns in the transcript before the newest prompt that the agent took. */
  #turnsBefore = 0;
  constructor(deps: LiveSessionDeps, input: ActivityWatchInput) {
    this.#deps = deps;
    this.#input = input;
    const { template, onError } = input;
    this.#reports = new HookReports({
      ...deps,
      ...input,
      onReport: (claim, line) => this.#onReport(claim, line),
      onAnswered: (note) => this.#observe({ kind: "permission_answered", ...note }),
      onError: (error) => onError(error, "cannot read a hook inbox"),
    });
    this.#transcript = new TranscriptFollower({
      transcripts: deps.transcripts,
      template,
      onChange: () => this.#onTranscript(),
      onError: (error) => onError(error, "cannot follow a transcript"),
    });
    this.pendingPermissions = new PendingPermissions({
      ...deps,
      changes: input.changes,
      limitMs: deps.permissionAnswerMs,
    });
    this.#agent = new AgentStateReader({ ...deps, ...input, transcript: this.#transcript });
    this.#moves = new SessionSwitchDetector({ ...deps, ...input, onDue: () => this.#lookSoon() });
    this.#dialogs = new DialogDesk({ ...deps, ...input });
    this.#screen = new ScreenWatch({ ...deps, ...input });
    this.outbox = new Outbox(deps, { ...input, promptPath: promptPathBeside(input.inboxPath) }, this.#outboxView());
  }

  #outboxView(): OutboxView {
    const { isGone, changes, onError } = this.#input;
    const maySend = (): boolean => !isGone() && isResting(this.#state);
    return {
      maySend,
      maySendNow: async () => maySend() && (await this.#agent.letsType(this.#state)) && maySend(),
      starting: () => isBooting(this.#state),
      hooksReport: () => this.#reports.any,
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
      isWritten: (prompt) => this.#transcript.holdsPrompt(prompt),
      changed: () => changes.notify(),
      failed: (error) => onError(error, "cannot take a prompt to its agent"),
    };
  }

  get state(): ActivityState {
    return this.#state;
  }
  get transcript(): TranscriptSummary | null {
    return this.#transcript.summary;
  }
  /** @returns whether the agent was told; not when it was answered in the terminal, or waits there in a dialog only */
  async answerPermission(
    { permissionId, kind, askedAt }: PendingPermission,
    answer: PermissionAnswer,
  ): Promise<boolean> {
    const told = await this.#agent.says();
    const dialogIsDue = this.#deps.clock.now() - Date.parse(askedAt) > dialogLagMs;
    const dialogIsOpen = told?.activity === "needs_permission" || told?.activity === "needs_answer";
    if (told !== null && !dialogIsOpen && dialogIsDue) return false;
    const byHook =
      this.pendingPermissions.isAnswerable(permissionId) || this.pendingPermissions.isDeciding(permissionId);
    const taken = byHook
      ? await this.pendingPermissions.decide(permissionId, toHookDecision(kind, answer))
      : await this.#decideOnScreen(permissionId, answer);
    if (taken) await this.#observe({ kind: "permission_answered", permissionId, decision: answer.decision });
    return taken;
  }

  /** Whether the decision can be given: to the hook that waits for it, or in the dialog on the screen. */
  isAnswerable(permissionId: string): boolean {
    return this.pendingPermissions.isAnswerable(permissionId) || this.#onScreen(permissionId) !== null;
  }

  /** The permission, when its hook has gone and its dialog stands on the screen; of several that may be meant, none. */
  #onScreen(permissionId: string): OpenPermission | null {
    if (this.pendingPermissions.isLeftToViewers) return null;
    const left = this.#state.permissions.filter((open) => !this.pendingPermissions.isAnswerable(open.permissionId));
    const only = this.#screen.askedAmong(left);
    return only?.permissionId === permissionId ? only : null;
  }

  /** A dialog takes a decision alone, no words with it. */
  async #decideOnScreen(permissionId: string, { decision, message }: PermissionAnswer): Promise<boolean> {
    if (message !== null || this.#onScreen(permissionId) === null) return false;
    return this.#dialogs.press((dialog) => {
      // It may have been answered, and the next one asked, since the last key.
      const permission = this.#state.permissions.find((open) => open.permissionId === permissionId);
      if (permission === undefined || !isAbout(dialog, permission.input)) return null;
      const choice = dialog.choices.findIndex(({ decides }) => decides === decision);
      return choice === -1 ? null : choice;
    });
  }

  /** @returns whether the dialog took the choice; not when it has gone, or another one stands there */
  async answerDialog(dialogId: string, choiceId: string): Promise<boolean> {
    const taken = await this.#dialogs.press((dialog) =>
      dialogIdOf(dialog) === dialogId ? Number(choiceId) - 1 : null,
    );
    await this.look();
    return taken;
  }

  /** Reads the whole inbox of this launch first, so that a found session stands where it stood. */
  async begin(): Promise<void> {
    const { identity, origin } = this.#input;
    const { transcriptPath, sessionId } = identity.record;
    if (transcriptPath !== null) await this.#transcript.follow(transcriptPath);
    this.#transcript.markResumed();
    const open = await this.#deps.queue.open(sessionId);
    if (origin === "launched") this.outbox.resume(open, "argv");
    await this.#reports.open();
    if (origin === "found") await this.#catchUp(open);
    await this.#followMove();
    const statePath = this.#input.template.liveStatePath(this.#input);
    if (statePath !== null) this.#unwatchState = this.#deps.transcripts.watch(statePath, () => this.#lookSoon());
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

  /** The agent's state file has changed. */
  #lookSoon(): void {
    this.look().catch((error: unknown) => this.#input.onError(error, "cannot look after a session"));
  }

  async #onReport({ event, transcriptPath }: HookClaim, line: ReportedLine): Promise<void> {
    if (transcriptPath !== null) await this.#bindTranscript(transcriptPath);
    await this.#observe(event, line);
  }

  async #bindTranscript(path: string): Promise<void> {
    if (path === this.#transcript.path) return;
    const { identity } = this.#input;
    const { sessionId } = identity.record;
    await this.#transcript.follow(path);
    await identity.patch({ transcriptPath: path }, sessionId);
  }

  /** By the session's id, where no hook has told the path. */
  async #findTranscript(): Promise<void> {
    const { identity, template, env } = this.#input;
    // The record of a session that the process has just begun has none yet, though the one before it is still followed.
    if (identity.record.transcriptPath !== null || identity.provisional) return;
    const { sessionId } = identity.record;
    const path = await template.findTranscript(sessionId, env);
    if (path !== null && identity.record.sessionId === sessionId) await this.#bindTranscript(path);
  }

  /** The process may have gone over to another session in its terminal. */
  async #followMove(): Promise<void> {
    const path = await this.#moves.follow(this.#transcript.path);
    if (path === null) return;
    await this.#bindTranscript(path);
    this.#transcript.markWorking();
    await this.#onTranscript();
  }

  async #observe(event: Observation, line?: ReportedLine): Promise<void> {
    // What only concludes that a question was answered is wrong while its dialog stands.
    const concludes = event.kind === "dialog_closed" || event.kind === "turn_over";
    if (concludes && this.#state.permissions.length > 0 && (await this.#screen.asks(this.#state))) return;
    const before = this.#state;
    const byTitle = this.#input.template.readTitle !== undefined && event.kind === "prompt_seen";
    if (line !== undefined || byTitle || event.kind === "permission_answered")
      this.#agent.heard(line?.at ?? this.#deps.clock.now());
    this.#state = nextActivity(before, event, line ?? { at: this.#deps.clock.now(), permissionId: "" });
    if (event.kind === "prompt_submitted") this.#transcript.markPrompt(line?.at ?? 0);
    this.#input.onMoved(line?.at ?? null);
    this.pendingPermissions.update(this.#state.permissions);
    this.#keepUnanswered(before, event);
    const taken = event.kind === "prompt_submitted" || event.kind === "prompt_seen" ? event.prompt : null;
    if (taken !== null) {
      this.#turnsBefore = this.#transcript.turnsWhenIdle;
      await this.outbox.onPromptTaken(taken, event.kind === "prompt_seen" ? "transcript" : "hook");
    }
    if (this.#state.turnsEnded > before.turnsEnded) {
      this.#restingSince = this.#deps.clock.now();
      this.#transcript.markTurnOver();
      await this.#transcript.refresh();
      await this.outbox.confirm();
      this.outbox.onTurnOver();
    }
    this.#markIdle();
    if (this.#state !== before) this.#input.changes.notify();
    this.outbox.pump();
  }

  /** A turn may end, and a prompt be taken, before the dialog of its permission appears (measured: Codex, when a call takes ten minutes). */
  #keepUnanswered(before: ActivityState, event: Observation): void {
    if (event.kind === "permission_answered" || event.kind === "tool_ended") return;
    const gone = before.permissions.filter((open) => !this.#state.permissions.includes(open));
    if (gone.length > 0) this.#unanswered = { permissions: gone, until: this.#deps.clock.now() + lateDialogMs };
  }

  /** What the transcript tells where no hook does: an aborted or failed turn, and everything of an agent without hooks. */
  async #onTranscript(): Promise<void> {
    const { template } = this.#input;
    const { hasHooks } = template;
    await this.outbox.confirm();
    const { unconfirmed } = this.outbox;
    const tells = !hasHooks || this.#reports.silent;
    const inTranscript =
      unconfirmed !== null && tells && this.#transcript.hasNewTurn && (await this.#transcript.hasPrompt(unconfirmed));
    // A hook may have told of it while we read.
    const taken = inTranscript && this.outbox.unconfirmed === unconfirmed ? unconfirmed : null;
    const news = transcriptNews({
      state: this.#state,
      transcript: this.#transcript,
      hasHooks,
      stateTells: this.#agent.tells,
      awaitsPrompt: this.outbox.unconfirmed !== null,
      promptTaken: taken,
    });
    for (const event of news) await this.#observe(event);
    this.#markIdle();
    this.#input.changes.notify();
  }

  /** What is written while a prompt is on its way may be its turn already. */
  #markIdle(): void {
    if (isResting(this.#state) && this.outbox.unconfirmed === null) this.#transcript.markIdle();
  }

  /** Whether something may have happened that nothing tells by itself. */
  get needsLook(): boolean {
    const { provisional } = this.#input.identity;
    if (!isResting(this.#state) || provisional || this.#restingMs < afterTurnMs || !this.#agent.agrees) return true;
    if (this.#deps.clock.now() < this.#unanswered.until) return true;
    if (this.#state.inBackground || this.#state.activity === "limited" || this.#moves.isDue) return true;
    return this.outbox.unsettled || this.outbox.waitingCount > 0 || !this.#screen.sawComposer;
  }

  /** How long no turn runs, by what is known. */
  get #restingMs(): number {
    return this.#deps.clock.now() - this.#restingSince;
  }

  async #look(): Promise<void> {
    if (this.#input.isGone()) return;
    const { identity } = this.#input;
    if (identity.provisional) await identity.discover();
    await this.#findTranscript();
    await this.#followMove();
    await this.#lookAtScreen();
    if (this.#state.activity === "working" && this.#reports.silent) {
      await this.#transcript.refresh();
      await this.#onTranscript();
    }
    const held = this.#state.permissions.some(({ permissionId }) => this.pendingPermissions.isAnswerable(permissionId));
    const asked = { restingMs: this.#restingMs, held };
    for (const event of await this.#agent.news(this.#state, asked)) await this.#observe(event);
    if (this.outbox.unsettled) await this.#transcript.refresh();
    if (limitIsOver(this.#state, this.transcript, this.#deps)) await this.#observe({ kind: "turn_over" });
    await this.outbox.tick();
    this.outbox.pump();
  }

  async #lookAtScreen(): Promise<void> {
    const left = this.#state.permissions.some(
      ({ permissionId }) => !this.pendingPermissions.isAnswerable(permissionId),
    );
    if (left && (await this.#screen.hasNewDialog())) this.#input.changes.notify();
    const { permissions, until } = this.#unanswered;
    if (permissions.length > 0 && this.#deps.clock.now() < until) {
      await this.#screen.hasNewDialog();
      const permission = this.#screen.askedAmong(permissions);
      if (permission !== null && !this.#state.permissions.includes(permission)) {
        await this.#observe({ kind: "permission_seen", permission });
      }
    }
    const pending = this.outbox.unconfirmed !== null || this.outbox.waitingCount > 0;
    for (const event of await this.#screen.news(this.#state, { pending })) await this.#observe(event);
  }

  /** Waits until the transcript has the end of a turn that has just ended: agents write their last lines a moment after their hook. */
  async untilWritten({ timeoutMs: bound = transcriptLagMs, signal }: WrittenLimits = {}): Promise<void> {
    const timeoutMs = Math.min(bound, this.#restingSince + transcriptLagMs - this.#deps.clock.now());
    if (!isResting(this.#state) || this.#state.turnsEnded === 0 || timeoutMs <= 0) return;
    await this.#transcript.refresh();
    const written = (): boolean => {
      const { summary } = this.#transcript;
      return summary !== null && summary.turnCount > this.#turnsBefore && summary.lastTurn.kind !== "open";
    };
    const done = (): boolean => this.#input.isGone() || !isResting(this.#state) || written();
    await this.#input.changes.until(done, { timeoutMs, signal });
  }

  /** The last hooks and lines of a process that has ended. */
  async readLast(): Promise<void> {
    await this.#reports.drain();
    this.pendingPermissions.dismissAll();
    await this.#findTranscript();
    await this.#transcript.refresh();
  }

  async close(): Promise<void> {
    this.#unwatchState();
    this.#moves.close();
    this.pendingPermissions.close();
    this.#transcript.close();
    await this.#reports.close();
  }
}
