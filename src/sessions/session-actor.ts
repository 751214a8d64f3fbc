import { channel } from "node:diagnostics_channel";
import type { AgentTemplate, Environment, HookClaim, ObservedState } from "../agents/index.ts";
import { dialogIdOf, isAbout, type PermissionAnswer, toHookDecision } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Transcripts } from "../transcripts/index.ts";
import type { PendingPermission } from "../wire/coding.ts";
import { isResting, type OpenPermission } from "./activity.ts";
import { letsType } from "./agent-view.ts";
import { DialogDesk } from "./dialog-desk.ts";
import { HookReports, type ReportedLine } from "./hook-reports.ts";
import { isProvisional } from "./identity.ts";
import { promptPathBeside } from "./launch.ts";
import { nextSession } from "./next-session.ts";
import { Outbox, type OutboxView } from "./outbox.ts";
import { PendingPermissions } from "./pending-permissions.ts";
import type { PermissionHooks } from "./permission-hooks.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { RecordKeeper, SessionSwitchDetector } from "./record-keeper.ts";
import { endIfHung, isComputing, lookAtScreen } from "./screen-look.ts";
import { askedAmong, asksProcess } from "./screen-view.ts";
import type { SessionEvents } from "./session-events.ts";
import {
  type FoundPrompt,
  hooksAreSilent,
  isUnsettled,
  maySend,
  needsLook,
  needsScreen,
  newSessionState,
  type SessionEffect,
  type SessionMessage,
  type SessionState,
  seeksPrompt,
  sentSince,
} from "./session-state.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";
import { unlessGone } from "./submit.ts";
import { TranscriptFollower } from "./transcript-follower.ts";

/** What a {@link SessionActor} works with. */
export interface SessionActorInput extends LiveSessionInput {
  readonly changes: ChangeSignal;
  readonly onError: (error: unknown, message: string) => void;
  /** Called when the state has moved, with the time of the hook that moved it; what follows from it is not done yet. */
  readonly onMoved: (at: number | null) => void;
}

/** How long a caller waits for the end of a turn in the transcript: two seconds at most. */
export interface WrittenLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A message that moved a session, and the state after it. Tests record them. */
export interface SeenMessage {
  readonly terminalId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Null for the state that a session begins with. */
  readonly message: SessionMessage | null;
  readonly state: SessionState;
}

/** Where {@link SeenMessage} are published, with what people wrote in them: only in this process. */
export const messages = channel("postern:session-messages");

const transcriptLagMs = 2_000;
// The agent's state file shows a dialog within half a second.
const dialogLagMs = 2_000;

/**
 * One live session. Hooks, transcript, the agent's state file and its screen come in as messages; `nextSession` moves the state, and the
 * effects that it names are carried out here.
 */
export class SessionActor {
  readonly outbox: Outbox;
  readonly keeper: RecordKeeper;
  /** Which permissions can be answered from here. */
  readonly pendingPermissions: PendingPermissions;
  /** Asks what reports nothing: the agent's own files, and its screen. */
  readonly look = oneAtATime(() => this.#look());
  readonly #deps: LiveSessionDeps;
  readonly #input: SessionActorInput;
  readonly #transcript: TranscriptFollower;
  readonly #reports: HookReports;
  readonly #moves: SessionSwitchDetector;
  readonly #dialogs: DialogDesk;
  #unwatchState = (): void => undefined;
  #state: SessionState;

  constructor(deps: LiveSessionDeps, input: SessionActorInput) {
    this.#deps = deps;
    this.#input = input;
    const { template, onError } = input;
    const at = deps.clock.now();
    this.#state = newSessionState(input.record, input.origin, at);
    const { terminalId } = input;
    if (messages.hasSubscribers) messages.publish({ terminalId, at, message: null, state: this.#state });
    this.keeper = new RecordKeeper(deps, input, {
      state: () => this.#state.identity,
      post: (change) => void this.#move({ kind: "identity", message: change }), // nothing follows from it
    });
    const { keeper } = this;
    this.#reports = new HookReports({
      ...deps,
      ...input,
      keeper,
      onReport: (claim, line) => this.#onReport(claim, line),
      onAnswered: (note) => this.#post({ kind: "answered", ...note }),
      onError: (error) => onError(error, "cannot read a hook inbox"),
    });
    this.#transcript = new TranscriptFollower({
      transcripts: deps.transcripts,
      template,
      onRead: (summary) => void this.#move({ kind: "transcript_read", summary }), // nothing follows from it
      onChange: () => this.#onTranscript(),
      onError: (error) => onError(error, "cannot follow a transcript"),
    });
    this.pendingPermissions = new PendingPermissions({
      ...deps,
      changes: input.changes,
      limitMs: deps.permissionAnswerMs,
    });
    this.#moves = new SessionSwitchDetector({ ...deps, ...input, keeper, onDue: () => this.#lookSoon() });
    this.#dialogs = new DialogDesk({ ...deps, ...input });
    this.outbox = new Outbox(deps, { ...input, promptPath: promptPathBeside(input.inboxPath) }, this.#outboxView());
  }

  #outboxView(): OutboxView {
    return {
      state: () => this.#state.prompts,
      post: (message) => this.#post({ kind: "prompt", message }),
      maySend: () => maySend(this.#state),
      maySendNow: () => this.#maySendNow(),
      turnsBeforeNext: async () => {
        await this.untilWritten();
        if (isResting(this.#state.activity)) await this.#post({ kind: "turns_counted", as: "resumed" });
        return this.#state.transcript.turnsWhenIdle;
      },
      wasTaken: async (text) => {
        await this.#reports.drain();
        const { turnsWhenIdle } = this.#state.transcript;
        return this.#state.prompts.sent?.text === text && (await this.#transcript.hasPrompt(text, turnsWhenIdle));
      },
      isWritten: ({ text, turnsBefore }) => {
        // With fewer turns than there were, it is another transcript: the agent began a new session with this prompt.
        const isOther = turnsBefore > (this.#state.transcript.summary?.turnCount ?? 0);
        return this.#transcript.holdsPrompt(text, isOther ? 0 : turnsBefore);
      },
      failed: (error) => this.#input.onError(error, "cannot take a prompt to its agent"),
    };
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Whether the session's id is a placeholder until the agent reports its own. */
  get isProvisional(): boolean {
    return isProvisional(this.#state.identity, this.#input.template);
  }

  /** The state moves at once; what follows from it is done when this resolves. */
  async #post(message: SessionMessage): Promise<void> {
    for (const effect of this.#move(message)) await this.#carryOut(effect);
  }

  /** @returns what has to be done, beside what is done at once */
  #move(message: SessionMessage): readonly SessionEffect[] {
    const before = this.#state;
    const { template, changes, terminalId, onMoved } = this.#input;
    const now = this.#deps.clock.now();
    const { state, effects } = nextSession(before, message, { template, now });
    this.#state = state;
    if (messages.hasSubscribers) messages.publish({ terminalId, at: now, message, state });
    for (const effect of effects) if (effect.kind === "moved") onMoved(effect.at);
    const { permissions } = state.activity;
    if (permissions !== before.activity.permissions) this.pendingPermissions.update(permissions);
    if (isNews(before, state) || message.kind === "transcript_changed") changes.notify();
    return effects;
  }

  async #carryOut(effect: SessionEffect): Promise<void> {
    switch (effect.kind) {
      case "moved":
        return; // done at once
      case "turn_ended":
        await this.#transcript.refresh();
        await this.outbox.confirm();
        return this.#post({ kind: "turn_written" });
      case "end_if_hung":
        return endIfHung(this.#deps, this.#input, effect.certain);
      default:
        return this.outbox.carryOut(effect);
    }
  }

  /** Whether a prompt may be typed, as the agent itself says: no dialog may be open then. */
  async #maySendNow(): Promise<boolean> {
    if (!maySend(this.#state)) return false;
    const observed = await this.#observed();
    const byTitle = this.#input.template.readTitle !== undefined;
    return maySend(this.#state) && letsType(observed, this.#state.activity, byTitle);
  }

  /** What the agent's own state file says, where it keeps one, or its window title, where that says anything. */
  async #observed(): Promise<ObservedState | null> {
    const { readTitle } = this.#input.template;
    if (readTitle === undefined) return this.#stateFile();
    const { title } = await this.#deps.host.look(this.#input.terminalId);
    const activity = title === null ? null : readTitle(title);
    return activity && { activity, since: null, hooked: false };
  }

  #stateFile(): Promise<ObservedState | null> {
    const { template, pid, env } = this.#input;
    return template.liveState(this.keeper.record.sessionId, { pid, env });
  }

  /** @returns whether the agent took it; not when it was answered in the terminal, or waits there in a dialog only */
  async answerPermission(
    { permissionId, kind, askedAt }: PendingPermission,
    answer: PermissionAnswer,
  ): Promise<boolean> {
    const observed = await this.#observed();
    const dialogIsDue = this.#deps.clock.now() - Date.parse(askedAt) > dialogLagMs;
    const dialogIsOpen = observed?.activity === "needs_permission" || observed?.activity === "needs_answer";
    if (observed !== null && !dialogIsOpen && dialogIsDue) return false;
    const byHook =
      this.pendingPermissions.isAnswerable(permissionId) || this.pendingPermissions.isDeciding(permissionId);
    const taken = byHook
      ? await this.pendingPermissions.decide(permissionId, toHookDecision(kind, answer))
      : await this.#decideOnScreen(permissionId, answer);
    if (taken) await this.#post({ kind: "answered", permissionId, decision: answer.decision });
    return taken;
  }

  /** Whether the decision can be given: to the hook that waits for it, or in the dialog on the screen. */
  isAnswerable(permissionId: string): boolean {
    return this.pendingPermissions.isAnswerable(permissionId) || this.#onScreen(permissionId) !== null;
  }

  /** The permission, when its hook has gone and its dialog stands on the screen; of several that may be meant, none. */
  #onScreen(permissionId: string): OpenPermission | null {
    if (this.pendingPermissions.isLeftToViewers) return null;
    const { activity, screen } = this.#state;
    const left = activity.permissions.filter((open) => !this.pendingPermissions.isAnswerable(open.permissionId));
    const only = askedAmong(screen.asked, left);
    return only?.permissionId === permissionId ? only : null;
  }

  /** A dialog takes a decision alone, no words with it. */
  async #decideOnScreen(permissionId: string, { decision, message }: PermissionAnswer): Promise<boolean> {
    if (message !== null || this.#onScreen(permissionId) === null) return false;
    return this.#dialogs.press((dialog) => {
      // It may have been answered, and the next one asked, since the last key.
      const permission = this.#state.activity.permissions.find((open) => open.permissionId === permissionId);
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
    const { origin, template } = this.#input;
    const { transcriptPath, sessionId } = this.keeper.record;
    if (transcriptPath !== null) await this.#transcript.follow(transcriptPath);
    await this.#post({ kind: "turns_counted", as: "resumed" });
    const open = await this.#deps.queue.open(sessionId);
    if (origin === "launched") {
      await this.#post({ kind: "prompt", message: { kind: "found", prompts: open, sentBy: "argv" } });
    }
    await this.#reports.open();
    if (origin === "found") {
      await this.#transcript.refresh();
      await this.#post({ kind: "caught_up", open: await Promise.all(open.map((prompt) => this.#found(prompt))) });
    }
    await this.#followMove();
    const statePath = template.liveStatePath(this.#input);
    if (statePath !== null) this.#unwatchState = this.#deps.transcripts.watch(statePath, () => this.#lookSoon());
  }

  async #found(prompt: FoundPrompt["prompt"]): Promise<FoundPrompt> {
    if (prompt.state !== "sent") return { prompt, turn: null };
    return { prompt, turn: await this.#transcript.findPromptSince(prompt.prompt, sentSince(prompt)) };
  }

  /** The agent's state file has changed. */
  #lookSoon(): void {
    this.look().catch((error: unknown) => this.#input.onError(error, "cannot look after a session"));
  }

  async #onReport({ event, transcriptPath }: HookClaim, line: ReportedLine): Promise<void> {
    if (transcriptPath !== null) await this.#bindTranscript(transcriptPath);
    await this.#post({ kind: "reported", event, line });
  }

  async #bindTranscript(path: string): Promise<void> {
    if (path === this.#transcript.path) return;
    const { sessionId } = this.keeper.record;
    await this.#post({ kind: "transcript_bound" });
    await this.#transcript.follow(path);
    await this.keeper.patch({ transcriptPath: path }, sessionId);
  }

  /** By the session's id, where no hook has reported the path. */
  async #findTranscript(): Promise<void> {
    const { template, env } = this.#input;
    const { sessionId, transcriptPath } = this.keeper.record;
    // The record of a session that the process has just begun has none yet, though the one before it is still followed.
    if (transcriptPath !== null || this.isProvisional) return;
    const path = await template.findTranscript(sessionId, env);
    if (path !== null && this.keeper.record.sessionId === sessionId) await this.#bindTranscript(path);
  }

  /** The process may have gone over to another session in its terminal. */
  async #followMove(): Promise<void> {
    const path = await this.#moves.follow(this.#transcript.path);
    if (path === null) return;
    await this.#bindTranscript(path);
    await this.#post({ kind: "turns_counted", as: "working" });
    await this.#onTranscript();
  }

  async #onTranscript(): Promise<void> {
    const { template } = this.#input;
    await this.outbox.confirm();
    const text = this.#state.prompts.sent?.text ?? null;
    const { turnsWhenIdle } = this.#state.transcript;
    const isSought = text !== null && seeksPrompt(this.#state, template, this.#deps.clock.now());
    const promptTaken = isSought && (await this.#transcript.hasPrompt(text, turnsWhenIdle)) ? text : null;
    const asks = this.#state.activity.permissions.length > 0;
    const screen = asks ? await unlessGone(lookAtScreen(this.#deps, this.#input), null) : null;
    await this.#post({ kind: "transcript_changed", promptTaken, dialog: screen?.dialog ?? null });
  }

  /** Whether something may have happened that nothing reports. */
  get needsLook(): boolean {
    return this.isProvisional || this.#moves.isDue || needsLook(this.#state, this.#deps.clock.now());
  }

  async #look(): Promise<void> {
    if (this.#state.hasEnded) return;
    const { template, pid } = this.#input;
    const { clock } = this.#deps;
    await this.keeper.discover();
    await this.#findTranscript();
    await this.#followMove();
    if (this.#state.activity.activity === "working" && hooksAreSilent(this.#state, clock.now())) {
      await this.#transcript.refresh();
      await this.#onTranscript();
    }
    const file = template.readTitle === undefined ? await this.#stateFile() : null;
    const asks = this.#state.activity.permissions.length > 0;
    if ((asks && file === null) || isUnsettled(this.#state.prompts)) await this.#transcript.refresh();
    const isDue = needsScreen(this.#state, template, clock.now());
    const screen = isDue ? await lookAtScreen(this.#deps, this.#input) : null;
    const process = screen === null ? "no" : asksProcess(this.#state.screen, screen, clock.now());
    const computes = process !== "no" && isComputing(pid, process === "with_children");
    const held = this.#state.activity.permissions
      .map(({ permissionId }) => permissionId)
      .filter((permissionId) => this.pendingPermissions.isAnswerable(permissionId));
    await this.#post({ kind: "looked", look: { screen, computes, file, held } });
    await this.outbox.tick();
    await this.#post({ kind: "prompt", message: { kind: "send_next" } });
  }

  /** Waits until the transcript has the end of a turn that has just ended: agents write their last lines a moment after their hook. */
  async untilWritten({ timeoutMs: bound = transcriptLagMs, signal }: WrittenLimits = {}): Promise<void> {
    const { activity, restingSince } = this.#state;
    const timeoutMs = Math.min(bound, restingSince + transcriptLagMs - this.#deps.clock.now());
    if (!isResting(activity) || activity.turnsEnded === 0 || timeoutMs <= 0) return;
    await this.#transcript.refresh();
    const done = (): boolean => {
      const { hasEnded, activity: now, transcript, turnsBefore } = this.#state;
      const { summary } = transcript;
      const isWritten = summary !== null && summary.turnCount > turnsBefore && summary.lastTurn.kind !== "open";
      return hasEnded || !isResting(now) || isWritten;
    };
    await this.#input.changes.until(done, { timeoutMs, signal });
  }

  /** The process is gone. Nothing is sent from now on. */
  end(): void {
    this.#move({ kind: "ended" }); // nothing follows from it
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

/** Whether there is something that a caller may wait for. */
function isNews(before: SessionState, after: SessionState): boolean {
  return (
    before.identity !== after.identity ||
    before.activity !== after.activity ||
    before.prompts !== after.prompts ||
    before.hasEnded !== after.hasEnded ||
    before.screen.asked !== after.screen.asked ||
    before.transcript.summary !== after.transcript.summary
  );
}

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
