import type { ObservedState } from "../agents/index.ts";
import { type ActivityState, isResting, type Observation } from "./activity.ts";

/** What an agent's state file says, beside what is known from elsewhere. */
export interface StateObservation {
  readonly state: Pick<ActivityState, "activity" | "inBackground" | "permissions">;
  readonly observed: ObservedState;
  /** Whether an earlier look, a moment ago, found the same. */
  readonly repeated: boolean;
  /** How long it has been found to say the same. */
  readonly observedForMs: number;
  /** When something else told last, a hook or an answer from here; epoch milliseconds. */
  readonly reportedAt: number;
  /** Whether that is a while ago. */
  readonly silent: boolean;
  /** How long no turn runs by other reports. */
  readonly restingMs: number;
}

// An agent writes "idle" within 0.2 s of its Stop hook, on a loaded machine in a second.
const idleLagMs = 2_500;

/**
 * What an agent's state file tells that nothing else did: the newer of two words counts. One that contradicts open questions, or is
 * older, has to be found twice: one dialog may follow another at once. Pure.
 */
export function observedChanges(look: StateObservation): readonly Observation[] {
  const { state, observed, repeated, reportedAt, silent } = look;
  const asks = state.permissions.length > 0;
  const newer = observed.since === null ? silent : observed.since > reportedAt;
  const counts = newer || (silent && repeated);
  // What stands on the screen is known better: only a turn that has begun since says something else.
  if (state.activity === "needs_attention")
    return observed.activity === "working" && newer ? [{ kind: "turn_seen" }] : [];
  switch (observed.activity) {
    case "working":
      if (isDialog(state.activity)) return counts && repeated ? [{ kind: "dialog_closed", activity: "working" }] : [];
      if (!isResting(state) || state.activity === "working") return [];
      if (newer) return [{ kind: "turn_seen" }];
      return repeated && look.restingMs > idleLagMs ? [{ kind: "background_seen" }] : [];
    case "idle":
      if (isDialog(state.activity)) return counts && repeated ? [{ kind: "dialog_closed", activity: "idle" }] : [];
      if (state.activity === "starting") return repeated ? [{ kind: "composer_painted" }] : [];
      return state.activity === "working" && counts ? [{ kind: "turn_over" }] : [];
    default:
      if (asks || state.activity === observed.activity || !repeated || !counts) return [];
      // The hook comes, on a loaded machine late, with what is asked.
      if (observed.hooked && look.observedForMs < hookLagMs) return [];
      return [{ kind: "dialog_seen", activity: observed.activity }];
  }
}

// A hook is a start of Node: 0.1 s, on a loaded machine a second.
const hookLagMs = 2_000;

function isDialog(activity: ActivityState["activity"]): boolean {
  return activity === "needs_permission" || activity === "needs_answer";
}

/** Whether what the agent says is what is known: nothing has to be looked at again. */
export function agrees({ activity }: ObservedState, state: Pick<ActivityState, "activity" | "inBackground">): boolean {
  if (activity === "idle") return state.activity !== "working" && isResting(state);
  return activity === state.activity;
}
