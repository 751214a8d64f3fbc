import type { ScreenDialog } from "../agents/index.ts";
import { dialogIdOf, isAbout } from "../agents/index.ts";
import { type ActivityState, isBooting, isResting, nextActivity, type Observation } from "./activity.ts";
import { agentChanges, withTitle } from "./agent-view.ts";
import type { ReportedLine } from "./hook-reports.ts";
import { nextIdentity } from "./identity.ts";
import { nextPrompts } from "./next-prompts.ts";
import type { PromptMessage } from "./prompts.ts";
import { idleChecked, usedByPrompt, viewed } from "./retirement.ts";
import { askedAmong, longestEmptyMs, screenChanges, screenMatters } from "./screen-view.ts";
import {
  hooksAreSilent,
  isPending,
  maySend,
  type SessionEffect,
  type SessionLook,
  type SessionMessage,
  type SessionState,
  type SessionTemplate,
  sentSince,
  tookSince,
} from "./session-state.ts";
import { limitIsOver } from "./status.ts";
import {
  markIdle,
  markResumed,
  markWorking,
  transcriptChanges,
  unreadTranscript,
  withSummary,
} from "./transcript-view.ts";

/** The reducer's input besides state and message. */
interface Context {
  readonly template: SessionTemplate;
  /** Epoch milliseconds. */
  readonly now: number;
}

interface Step {
  readonly state: SessionState;
  readonly effects: readonly SessionEffect[];
}

// The dialog appears when the hook of its permission has ended. Starting Node takes some seconds on a loaded machine.
const lateDialogMs = 30_000;
// A gateway that reattaches to a session looks for the single prompt that was in flight.
const maxRemembered = 50;

/** The next state of a session, and the effects that follow. Pure. */
export function nextSession(state: SessionState, message: SessionMessage, context: Context): Step {
  switch (message.kind) {
    case "reported":
      return reported(state, message, context);
    case "answered":
      return observe(only(state), { ...message, kind: "permission_answered" }, context);
    case "transcript_bound":
      return only({ ...state, transcript: unreadTranscript });
    case "transcript_read":
      return only({ ...state, transcript: withSummary(state.transcript, message.summary) });
    case "transcript_changed":
      return transcriptChanged(state, message, context);
    case "turns_counted": {
      const mark = message.as === "resumed" ? markResumed : markWorking;
      return only({ ...state, transcript: mark(state.transcript) });
    }
    case "looked":
      return looked(state, message.look, context);
    case "turn_written":
      return next(withPrompts(only(state), { kind: "turn_over" }, context), context);
    case "caught_up":
      return caughtUp(state, message, context);
    case "prompt":
      return withPrompts(only(state), message.message, context);
    case "identity":
      return only({ ...state, identity: nextIdentity(state.identity, message.message) });
    case "viewer":
      return viewed(state, message.did, context.now);
    case "idle_checked":
      return idleChecked(state, message, context.now);
    case "found_in_use":
      if (state.life.kind !== "retiring") return only(state);
      return only({ ...state, life: { kind: "running" }, use: { ...state.use, lastAt: context.now } });
    case "ended": {
      const { life } = state;
      return only({ ...state, life: { kind: "ended", idleMs: life.kind === "running" ? null : life.idleMs } });
    }
  }
}

function only(state: SessionState): Step {
  return { state, effects: [] };
}

function withPrompts({ state, effects }: Step, message: PromptMessage, { now, template }: Context): Step {
  const after = nextPrompts(state.prompts, message, {
    now,
    template,
    maySend: maySend(state),
    turnCount: state.transcript.turnsWhenIdle,
    starting: isBooting(state.activity),
    hooksReport: state.hooks.any,
  });
  return { state: { ...state, prompts: after.state }, effects: [...effects, ...after.effects] };
}

function reported(
  state: SessionState,
  { event, line, ruled }: Extract<SessionMessage, { kind: "reported" }>,
  context: Context,
): Step {
  const { hooks } = state;
  const taken =
    event.kind === "prompt_submitted"
      ? [...hooks.taken, { text: event.prompt, at: line.at }].slice(-maxRemembered)
      : hooks.taken;
  const step = observe(only({ ...state, hooks: { lastAt: line.at, any: true, taken } }), event, { ...context, line });
  if (ruled === undefined) return step;
  return observe(step, { kind: "permission_answered", permissionId: line.permissionId, decision: ruled }, context);
}

interface Observing extends Context {
  /** The hook's line that reported it. */
  readonly line?: ReportedLine;
  /** The dialog on the screen, when a question is open. */
  readonly dialog?: ScreenDialog | null;
}

/** Applies one observation to the activity, with all its consequences. */
function observe({ state: before, effects }: Step, event: Observation, context: Observing): Step {
  const { now, template, line, dialog = null } = context;
  // An inferred answer to a question is wrong while its dialog is on the screen.
  const concludes = event.kind === "dialog_closed" || event.kind === "turn_over";
  if (concludes && dialog !== null && before.activity.permissions.some(({ input }) => isAbout(dialog, input))) {
    return { state: before, effects };
  }
  const byTitle = template.readTitle !== undefined && event.kind === "prompt_seen";
  const isReport = line !== undefined || byTitle || event.kind === "permission_answered";
  const activity = nextActivity(before.activity, event, line ?? { at: now, permissionId: "" });
  const promptAt = event.kind === "prompt_submitted" ? (line?.at ?? 0) : before.transcript.promptAt;
  const taken = event.kind === "prompt_submitted" || event.kind === "prompt_seen" ? event.prompt : null;
  const ended = activity.turnsEnded > before.activity.turnsEnded;
  const step: Step = {
    state: {
      ...before,
      activity,
      agent: isReport ? { ...before.agent, reportedAt: line?.at ?? now } : before.agent,
      transcript: { ...before.transcript, promptAt },
      unanswered: unansweredAfter(before, { activity, event, now }),
      turnsBefore: taken === null ? before.turnsBefore : before.transcript.turnsWhenIdle,
      use: taken === null ? before.use : usedByPrompt(before.use, line?.at ?? null, now),
    },
    effects: [...effects, { kind: "moved", at: line?.at ?? null }],
  };
  const by = event.kind === "prompt_seen" ? "transcript" : "hook";
  const after = taken === null ? step : withPrompts(step, { kind: "taken", text: taken, by }, context);
  return ended ? turnEnded(after, now) : next(after, context);
}

/** Nothing more follows, so the next prompt may be sent. */
function next(step: Step, context: Context): Step {
  return withPrompts(idleCounted(step), { kind: "send_next" }, context);
}

/** The dialog of a permission may appear only after its turn has ended and a new prompt was accepted (measured with a ten-minute call). */
function unansweredAfter(
  { activity: before, unanswered }: SessionState,
  { activity, event, now }: { readonly activity: ActivityState; readonly event: Observation; readonly now: number },
): SessionState["unanswered"] {
  if (event.kind === "permission_answered" || event.kind === "tool_ended") return unanswered;
  const gone = before.permissions.filter((open) => !activity.permissions.includes(open));
  return gone.length > 0 ? { permissions: gone, until: now + lateDialogMs } : unanswered;
}

function turnEnded({ state, effects }: Step, now: number): Step {
  const transcript = { ...state.transcript, settled: false };
  return { state: { ...state, restingSince: now, transcript }, effects: [...effects, { kind: "turn_ended" }] };
}

/** Does nothing while a prompt is on its way: new lines can already belong to that prompt's turn. */
function idleCounted({ state, effects }: Step): Step {
  if (!isResting(state.activity) || state.prompts.sent !== null) return { state, effects };
  return { state: { ...state, transcript: markIdle(state.transcript) }, effects };
}

/** What only the transcript shows: an aborted or failed turn, and everything about an agent without hooks. */
function transcriptChanged(
  state: SessionState,
  { promptTaken, dialog }: Extract<SessionMessage, { kind: "transcript_changed" }>,
  context: Context,
): Step {
  const { hasHooks } = context.template;
  const unconfirmed = state.prompts.sent?.text ?? null;
  const changes = transcriptChanges(state.transcript, {
    activity: state.activity,
    hasHooks,
    stateReports: state.agent.reports,
    silent: hooksAreSilent(state, context.now),
    awaitsPrompt: unconfirmed !== null,
    // A hook may have reported it during the read.
    promptTaken: unconfirmed === promptTaken ? promptTaken : null,
  });
  return idleCounted(observeAll(only(state), changes, { ...context, dialog }));
}

function looked(state: SessionState, look: SessionLook, context: Context): Step {
  const { screen, held } = look;
  const observing = { ...context, dialog: screen?.dialog ?? null };
  const late = screen === null ? only(state) : lateDialog(only(state), { dialog: screen.dialog, held }, context);
  const step = agentLooked(screenLooked(late, look, observing), look, observing);
  const isOver = limitIsOver(step.state.activity, step.state.transcript.summary, context.now);
  return isOver ? observe(step, { kind: "turn_over" }, observing) : step;
}

function observeAll(step: Step, changes: readonly Observation[], context: Observing): Step {
  return changes.reduce<Step>((before, event) => observe(before, event, context), step);
}

function screenLooked(step: Step, { screen, computes }: SessionLook, context: Observing): Step {
  const { activity } = step.state;
  const pending = isPending(step.state);
  if (screen === null || !screenMatters(step.state.screen, activity, pending)) return step;
  const { readyBy } = context.template;
  const seen = screenChanges(step.state.screen, screen, { activity, pending, computes, readyBy, now: context.now });
  const after = observeAll({ ...step, state: { ...step.state, screen: seen.view } }, seen.changes, context);
  if (!seen.mayHang) return after;
  const certain = seen.view.emptyMs >= longestEmptyMs;
  return { ...after, effects: [...after.effects, { kind: "end_if_hung", certain }] };
}

function agentLooked({ state, effects }: Step, { screen, file, held }: SessionLook, context: Observing): Step {
  const { now, template } = context;
  const { readTitle } = template;
  const { activity, restingSince, transcript } = state;
  const title = screen?.title ?? null;
  const before =
    readTitle === undefined || screen === null
      ? state.agent
      : withTitle(state.agent, title === null ? null : readTitle(title), now);
  const byTitle = before.title === null ? null : { ...before.title, hooked: false };
  const { view, changes } = agentChanges(
    before,
    { observed: readTitle === undefined ? file : byTitle, covered: screen && !screen.composer },
    {
      activity,
      restingMs: now - restingSince,
      held: activity.permissions.some(({ permissionId }) => held.includes(permissionId)),
      turnOpen: (transcript.summary?.lastTurn.kind ?? "open") === "open",
      now,
    },
  );
  return observeAll({ state: { ...state, agent: view }, effects }, changes, context);
}

/** The dialog of a permission whose hook no longer waits, or that seemed to be answered otherwise. */
function lateDialog(
  step: Step,
  { dialog, held }: { readonly dialog: ScreenDialog | null; readonly held: readonly string[] },
  context: Context,
): Step {
  const { activity, unanswered, screen } = step.state;
  const isLeft = activity.permissions.some(({ permissionId }) => !held.includes(permissionId));
  const isLate = unanswered.permissions.length > 0 && context.now < unanswered.until;
  if (!isLeft && !isLate) return step;
  const isSame = (screen.asked && dialogIdOf(screen.asked)) === (dialog && dialogIdOf(dialog));
  const after = isSame ? step : { ...step, state: { ...step.state, screen: { ...screen, asked: dialog } } };
  const permission = isLate ? askedAmong(dialog, unanswered.permissions) : null;
  if (permission === null || activity.permissions.includes(permission)) return after;
  return observe(after, { kind: "permission_seen", permission }, context);
}

/**
 * Gives the session the prompts of an earlier gateway. A prompt that was sent and not confirmed is searched for in the hooks' reports and
 * the transcript since then: the agent may have answered it long ago.
 */
function caughtUp(
  state: SessionState,
  { open }: Extract<SessionMessage, { kind: "caught_up" }>,
  context: Context,
): Step {
  let step = only({ ...state, prompts: { ...state.prompts, isRead: true } });
  /** A prompt that only the transcript shows: its turn may have begun without a hook. */
  let unreported: string | null = null;
  for (const { prompt, turn } of open) {
    if (turn !== null) {
      const transcript = { ...step.state.transcript, turnsWhenIdle: turn };
      step = { ...step, state: { ...step.state, transcript } };
    }
    step = withPrompts(step, { kind: "found", prompts: [prompt], sentBy: "typing" }, context);
    if (prompt.state !== "sent") continue;
    const { prompt: text } = prompt;
    const since = sentSince(prompt);
    const isReported = tookSince(state.hooks, text, since);
    if (turn !== null && !isReported) unreported = text;
    if (turn !== null || isReported) {
      step = withPrompts(step, { kind: "taken", text, by: turn === null ? "hook" : "transcript" }, context);
    } else if (tookSince(state.hooks, null, since)) step = withPrompts(step, { kind: "other_taken" }, context);
  }
  const runs = step.state.transcript.summary?.lastTurn.kind === "open";
  if (isResting(step.state.activity)) {
    step =
      unreported !== null && runs
        ? observe(step, { kind: "prompt_seen", prompt: unreported }, context)
        : withPrompts(step, { kind: "turn_over" }, context);
  }
  const mark = isResting(step.state.activity) ? markIdle : markWorking;
  const transcript = mark(step.state.transcript);
  // Any turn or wait that has ended by now ended before this gateway started.
  const found = { ...step.state, transcript, turnsBefore: transcript.turnsWhenIdle, restingSince: 0 };
  return withPrompts({ ...step, state: found }, { kind: "send_next" }, context);
}
