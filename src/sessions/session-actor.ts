import { channel } from "node:diagnostics_channel";
import { dialogIdOf, isAbout, type PermissionAnswer, toHookDecision } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import type { PendingPermission } from "../wire/coding.ts";
import { isResting, type OpenPermission } from "./activity.ts";
import { letsType } from "./agent-view.ts";
import { DialogDesk } from "./dialog-desk.ts";
import { isProvisional } from "./identity.ts";
import { promptPathBeside } from "./launch.ts";
import { nextSession } from "./next-session.ts";
import { Outbox, type OutboxView } from "./outbox.ts";
import { PendingPermissions } from "./pending-permissions.ts";
import { RecordKeeper } from "./record-keeper.ts";
import { endGently, lookAtRest } from "./rest-look.ts";
import { idleEndsAt } from "./retirement.ts";
import { createRuleAnswers } from "./rule-answers.ts";
import { endIfHung } from "./screen-look.ts";
import { askedAmong } from "./screen-view.ts";
import { type LiveSessionDeps, type SensorsInput, SessionSensors } from "./session-sensors.ts";
import {
  maySend,
  newSessionState,
  type SessionEffect,
  type SessionMessage,
  type SessionState,
} from "./session-state.ts";
export interface SessionActorInput extends SensorsInput {
  readonly changes: ChangeSignal;
  /** Called when the state has changed, with the time of the hook that changed it, before the effects are carried out. */
  readonly onMoved: (at: number | null) => void;
}

/** How long a caller waits for the end of a turn in the transcript: two seconds at most. */
export interface WrittenLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A message that changed a session's state, and the state after it. Tests record them. */
export interface SeenMessage {
  readonly terminalId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Null for the initial state. */
  readonly message: SessionMessage | null;
  readonly state: SessionState;
}

/** The channel for each {@link SeenMessage}, including text that people wrote. It never leaves this process. */
export const messages = channel("postern:session-messages");

const transcriptLagMs = 2_000;
// The agent's state file shows a dialog within half a second.
const dialogLagMs = 2_000;

/**
 * One live session. Hooks, the transcript, the agent's state file and its screen arrive as messages. `nextSession` changes the state, and
 * its effects are carried out here.
 */
export class SessionActor {
  readonly outbox: Outbox;
  readonly keeper: RecordKeeper;
  /** Which permissions can be answered from here. */
  readonly pendingPermissions: PendingPermissions;
  readonly #deps: LiveSessionDeps;
  readonly #input: SessionActorInput;
  readonly sensors: SessionSensors;
  readonly #dialogs: DialogDesk;
  #state: SessionState;

  constructor(deps: LiveSessionDeps, input: SessionActorInput) {
    this.#deps = deps;
    this.#input = input;
    const at = deps.clock.now();
    this.#state = newSessionState(input.record, input.origin, at);
    const { terminalId } = input;
    if (messages.hasSubscribers) messages.publish({ terminalId, at, message: null, state: this.#state });
    this.keeper = new RecordKeeper(deps, input, {
      state: () => this.#state.identity,
      post: (change) => void this.#move({ kind: "identity", message: change }), // nothing follows from it
    });
    this.pendingPermissions = new PendingPermissions({
      ...deps,
      changes: input.changes,
      limitMs: deps.permissionAnswerMs,
    });
    this.#dialogs = new DialogDesk({ ...deps, ...input });
    const ruled = createRuleAnswers(deps, {
      ...input,
      record: () => this.keeper.record,
      pending: this.pendingPermissions,
    });
    this.sensors = new SessionSensors(deps, input, {
      keeper: this.keeper,
      state: () => this.#state,
      post: (message) => this.#post(message),
      onRead: (summary) => void this.#move({ kind: "transcript_read", summary }), // nothing follows from it
      ruled,
      waitingHooks: () => this.#permissionIds().filter((id) => this.pendingPermissions.isAnswerable(id)),
      confirm: () => this.outbox.confirm(),
      tick: () => this.outbox.tick(),
    });
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
        await this.sensors.drainHooks();
        const { turnsWhenIdle } = this.#state.transcript;
        return (
          this.#state.prompts.sent?.text === text && (await this.sensors.transcript.hasPrompt(text, turnsWhenIdle))
        );
      },
      isWritten: ({ text, turnsBefore }) => {
        // Fewer turns than before mean another transcript: the agent began a new session with this prompt.
        const isOther = turnsBefore > (this.#state.transcript.summary?.turnCount ?? 0);
        return this.sensors.transcript.holdsPrompt(text, isOther ? 0 : turnsBefore);
      },
      failed: (error) => this.#input.onError(error, "cannot deliver a prompt to its agent"),
    };
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Whether the session's id is a placeholder until the agent reports its own. */
  get isProvisional(): boolean {
    return isProvisional(this.#state.identity, this.#input.template);
  }

  /** Changes the state immediately; resolves when the effects have been carried out. */
  async #post(message: SessionMessage): Promise<void> {
    for (const effect of this.#move(message)) await this.#carryOut(effect);
  }

  /** @returns the effects that are still to be carried out */
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
        return; // nothing is left to do
      case "turn_ended":
        await this.sensors.transcript.refresh();
        await this.outbox.confirm();
        return this.#post({ kind: "turn_written" });
      case "end_if_hung":
        return endIfHung(this.#deps, this.#input, effect.certain);
      case "note_use":
        return this.keeper.patch({ updatedAt: effect.at });
      case "retire":
        return this.#endIdle();
      default:
        return this.outbox.carryOut(effect);
    }
  }

  /** Whether a prompt can be typed, according to the agent's own report as well: no dialog may be open. */
  async #maySendNow(): Promise<boolean> {
    if (!maySend(this.#state)) return false;
    const observed = await this.sensors.observed();
    const byTitle = this.#input.template.readTitle !== undefined;
    return maySend(this.#state) && letsType(observed, this.#state.activity, byTitle);
  }

  /** @returns whether the agent accepted it; false if it was answered in the terminal, or can only be answered there */
  async answerPermission(
    { permissionId, kind, askedAt }: PendingPermission,
    answer: PermissionAnswer,
  ): Promise<boolean> {
    const observed = await this.sensors.observed();
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

  /** The permission whose hook has ended and whose dialog is on the screen; null if there can be several. */
  #onScreen(permissionId: string): OpenPermission | null {
    if (this.pendingPermissions.isLeftToViewers) return null;
    const { activity, screen } = this.#state;
    const left = activity.permissions.filter((open) => !this.pendingPermissions.isAnswerable(open.permissionId));
    const only = askedAmong(screen.asked, left);
    return only?.permissionId === permissionId ? only : null;
  }

  /** A dialog accepts only a decision, without a message. */
  async #decideOnScreen(permissionId: string, { decision, message }: PermissionAnswer): Promise<boolean> {
    if (message !== null || this.#onScreen(permissionId) === null) return false;
    return this.#dialogs.press((dialog) => {
      // Since the last key, the permission may have been answered and the next dialog opened.
      const permission = this.#state.activity.permissions.find((open) => open.permissionId === permissionId);
      if (permission === undefined || !isAbout(dialog, permission.input)) return null;
      const choice = dialog.choices.findIndex(({ decides }) => decides === decision);
      return choice === -1 ? null : choice;
    });
  }

  /** @returns whether the dialog accepted the choice; false if it has closed, or another one is open */
  async answerDialog(dialogId: string, choiceId: string): Promise<boolean> {
    const taken = await this.#dialogs.press((dialog) =>
      dialogIdOf(dialog) === dialogId ? Number(choiceId) - 1 : null,
    );
    await this.sensors.look();
    return taken;
  }

  /** Waits until the transcript has the end of a turn that has just ended: agents write their last lines a moment after their hook. */
  async untilWritten({ timeoutMs: bound = transcriptLagMs, signal }: WrittenLimits = {}): Promise<void> {
    const { activity, restingSince } = this.#state;
    const timeoutMs = Math.min(bound, restingSince + transcriptLagMs - this.#deps.clock.now());
    if (!isResting(activity) || activity.turnsEnded === 0 || timeoutMs <= 0) return;
    await this.sensors.transcript.refresh();
    const done = (): boolean => {
      const { life, activity: now, transcript, turnsBefore } = this.#state;
      const { summary } = transcript;
      const isWritten = summary !== null && summary.turnCount > turnsBefore && summary.lastTurn.kind !== "open";
      return life.kind === "ended" || !isResting(now) || isWritten;
    };
    await this.#input.changes.until(done, { timeoutMs, signal });
  }

  #permissionIds(): readonly string[] {
    return this.#state.activity.permissions.map(({ permissionId }) => permissionId);
  }

  /** When the agent will be ended if it stays unused, in epoch milliseconds; null while it is in use, or if it is kept running. */
  get idleEndsAt(): number | null {
    const { idleTimeoutMs } = this.#deps;
    return idleTimeoutMs === null ? null : idleEndsAt(this.#state, idleTimeoutMs);
  }

  /** A viewer attached to the terminal, or left. */
  onViewer(did: "attach" | "leave"): void {
    this.#post({ kind: "viewer", did }).catch((error: unknown) =>
      this.#input.onError(error, "cannot record when a session was used"),
    );
  }

  /** Ends an agent that was idle for too long, unless a look shows that it is in use. */
  async retire(): Promise<void> {
    const { idleTimeoutMs } = this.#deps;
    if (idleTimeoutMs === null) return;
    await this.sensors.look();
    await this.sensors.transcript.refresh();
    await this.sensors.drainHooks();
    const found = await lookAtRest(this.#deps, {
      ...this.#input,
      observed: await this.sensors.observed(),
      transcriptPath: this.keeper.record.transcriptPath,
      firstPromptAt: this.#state.use.firstPromptAt,
    });
    await this.#post({ kind: "idle_checked", found, idleTimeoutMs });
  }

  /** An agent that is in use after all, or could not be ended, accepts prompts again. */
  async #endIdle(): Promise<void> {
    let ended = false;
    try {
      ended = await endGently(this.#deps, this.#input, () => this.#state.life.kind === "ended");
    } finally {
      if (!ended) await this.#post({ kind: "found_in_use" });
    }
  }

  /** The process is gone. Nothing is sent from now on. */
  end(): void {
    this.#move({ kind: "ended" }); // nothing follows from it
  }

  /** Reads the last hooks and lines of a process that has ended. */
  async readLast(): Promise<void> {
    await this.sensors.drainHooks();
    this.pendingPermissions.dismissAll();
    await this.sensors.readTranscript();
  }

  async close(): Promise<void> {
    this.pendingPermissions.close();
    await this.sensors.close();
  }
}

/** Whether anything changed that a caller may be waiting for. */
function isNews(before: SessionState, after: SessionState): boolean {
  return (
    before.identity !== after.identity ||
    before.activity !== after.activity ||
    before.prompts !== after.prompts ||
    before.life !== after.life ||
    before.screen.asked !== after.screen.asked ||
    before.transcript.summary !== after.transcript.summary
  );
}
