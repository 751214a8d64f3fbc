import type { ObservedActivity, ObservedState } from "../agents/index.ts";
import { type ActivityState, isResting, type Observation } from "./activity.ts";

/** What a live agent shows of itself besides its hooks: its state file, its window title, and whether its composer is covered. */
export interface AgentView {
  /** The last state that the state file reported, and since when it has reported that state, by our clock. */
  readonly last: { readonly said: string; readonly at: number } | null;
  /** Whether the last look found nothing new. */
  readonly agrees: boolean;
  /** Whether a state file or title reported a state at the last look. */
  readonly reports: boolean;
  /** When a hook, or an answer given through Postern, last reported something. */
  readonly reportedAt: number;
  /** When a question's hook was last seen waiting. Its dialog opens after that. */
  readonly heldAt: number;
  /** Without a state file: whether the composer is covered, and since when, while a question is open. */
  readonly sight: { readonly covered: boolean; readonly at: number } | null;
  readonly wasCovered: boolean;
  /** The window title's state, and since when. */
  readonly title: { readonly activity: ObservedActivity; readonly since: number } | null;
}

export function newAgentView(now: number): AgentView {
  const nothing = { last: null, sight: null, wasCovered: false, title: null };
  return { ...nothing, agrees: true, reports: false, reportedAt: now, heldAt: 0 };
}

// If no other report has come for this long, the state file is trusted even if it is older.
const silenceMs = 1_500;
// The dialog of a sub-agent's question comes a second or two after its hook.
const askedSilenceMs = 5_000;
// Between two dialogs an agent may be busy for a moment.
const repeatedMs = 200;
// A dialog is painted within a second after its hook ends, or a few seconds on a loaded machine. If none appears, it was already answered.
const unseenDialogMs = 5_000;
// An agent writes "idle" within 0.2 s of its Stop hook, or within a second on a loaded machine.
const idleLagMs = 2_500;
// A hook starts a Node process, which takes 0.1 s, or a second on a loaded machine.
const hookLagMs = 2_000;

/** What a look at the agent's own reports found. */
export interface AgentLook {
  /** Null when neither file nor title reports anything. */
  readonly observed: ObservedState | null;
  /** Whether something covers the composer; null if the screen was not checked. */
  readonly covered: boolean | null;
}

/** What else is known. */
export interface AgentContext {
  readonly activity: ActivityState;
  /** How long the other reports have shown no running turn. */
  readonly restingMs: number;
  /** Whether a question's hook waits, possibly before its dialog opens. */
  readonly held: boolean;
  /** Whether a turn runs, according to the transcript. */
  readonly turnOpen: boolean;
  readonly now: number;
}

interface AgentStep {
  readonly view: AgentView;
  readonly changes: readonly Observation[];
}

/** The state in a window title, and since when. */
export function withTitle(view: AgentView, activity: ObservedActivity | null, now: number): AgentView {
  if (activity === null) return { ...view, title: null };
  return view.title?.activity === activity ? view : { ...view, title: { activity, since: now } };
}

/** The new information in the agent's own reports. Pure. */
export function agentChanges(before: AgentView, { observed, covered }: AgentLook, context: AgentContext): AgentStep {
  const { now, held, activity } = context;
  const view = held ? { ...before, heldAt: now } : before;
  if (observed === null) {
    // A single read may have happened in the middle of a write.
    if (view.reports) return { view: { ...view, reports: false }, changes: [] };
    return changesBySight(view, covered, context);
  }
  const quietMs = now - Math.max(view.reportedAt, view.heldAt);
  const said = `${observed.activity} ${observed.since}`;
  const last = view.last?.said === said ? view.last : { said, at: now };
  const changes = observedChanges({
    state: activity,
    observed,
    repeated: now - last.at >= repeatedMs,
    observedForMs: now - last.at,
    reportedAt: view.reportedAt,
    silent: quietMs > (activity.permissions.length > 0 ? askedSilenceMs : silenceMs),
    restingMs: context.restingMs,
  });
  const agrees = changes.length === 0 && isSame(observed, activity);
  return { view: { ...view, last, agrees, reports: true }, changes };
}

/** An open question covers the composer. Once that was seen, a visible composer means that the question was answered. */
function changesBySight(view: AgentView, covered: boolean | null, context: AgentContext): AgentStep {
  const { activity, now, turnOpen } = context;
  if (activity.permissions.length === 0) return { view: { ...view, sight: null, wasCovered: false }, changes: [] };
  if (covered === null) return { view, changes: [] };
  // The question's dialog is not shown yet: the dialog that covered the composer belonged to the previous question.
  if (context.held) return { view: { ...view, sight: null, wasCovered: false }, changes: [] };
  const sight = view.sight?.covered === covered ? view.sight : { covered, at: now };
  const wasCovered = view.wasCovered || covered;
  const next = { ...view, sight, wasCovered };
  const neverSeen = !wasCovered && now - Math.max(view.reportedAt, view.heldAt) > unseenDialogMs;
  if (covered || now - sight.at < repeatedMs || !(wasCovered || neverSeen)) return { view: next, changes: [] };
  return { view: next, changes: [{ kind: "dialog_closed", activity: turnOpen ? "working" : "idle" }] };
}

/** An agent's state file, with what is known from other sources. */
export interface StateObservation {
  readonly state: Pick<ActivityState, "activity" | "inBackground" | "permissions">;
  readonly observed: ObservedState;
  /** Whether a look shortly before found the same state. */
  readonly repeated: boolean;
  /** How long the state file has reported this state. */
  readonly observedForMs: number;
  /** When a hook, or an answer given through Postern, last reported something; epoch milliseconds. */
  readonly reportedAt: number;
  /** Whether `reportedAt` is a while ago. */
  readonly silent: boolean;
  /** How long the other reports have shown no running turn. */
  readonly restingMs: number;
}

/**
 * What an agent's state file adds to other reports: the newer one takes precedence. A state that is older, or contradicts open questions, must be
 * found twice, because one dialog can follow another immediately. Pure.
 */
export function observedChanges(look: StateObservation): readonly Observation[] {
  const { state, observed, repeated, reportedAt, silent } = look;
  const asks = state.permissions.length > 0;
  const newer = observed.since === null ? silent : observed.since > reportedAt;
  const counts = newer || (silent && repeated);
  // The screen is more reliable: only a turn that started after that look overrides it.
  if (state.activity === "needs_attention")
    return observed.activity === "working" && newer ? [{ kind: "turn_seen" }] : [];
  switch (observed.activity) {
    case "working":
      if (isDialog(state.activity)) return counts && repeated ? [{ kind: "dialog_closed", activity: "working" }] : [];
      // The hooks of its start and of its prompt were lost.
      if (state.activity === "starting") return silent && repeated ? [{ kind: "turn_seen" }] : [];
      if (!isResting(state) || state.activity === "working") return [];
      if (newer) return [{ kind: "turn_seen" }];
      return repeated && look.restingMs > idleLagMs ? [{ kind: "background_seen" }] : [];
    case "idle":
      if (isDialog(state.activity)) return counts && repeated ? [{ kind: "dialog_closed", activity: "idle" }] : [];
      if (state.activity === "starting") return repeated ? [{ kind: "composer_painted" }] : [];
      return state.activity === "working" && counts ? [{ kind: "turn_over" }] : [];
    default:
      if (asks || state.activity === observed.activity || !repeated || !counts) return [];
      // The hook reports what is asked, but late on a loaded machine.
      if (observed.hooked && look.observedForMs < hookLagMs) return [];
      return [{ kind: "dialog_seen", activity: observed.activity }];
  }
}

function isDialog(activity: ActivityState["activity"]): boolean {
  return activity === "needs_permission" || activity === "needs_answer";
}

/** Whether the agent's report matches what is known, so that no second look is needed. */
export function isSame({ activity }: ObservedState, state: Pick<ActivityState, "activity" | "inBackground">): boolean {
  if (activity === "idle") return state.activity !== "working" && isResting(state);
  return activity === state.activity;
}

/** Whether a prompt may be typed: no dialog is open, and no turn is running that no hook has reported yet. */
export function letsType(observed: ObservedState | null, state: ActivityState, byTitle: boolean): boolean {
  // Otherwise an open dialog of an agent that reports nothing else would go unnoticed.
  if (observed === null) return !byTitle;
  return observed.activity === "idle" || (observed.activity === "working" && state.inBackground);
}
