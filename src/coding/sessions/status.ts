import type { Activity, SessionStatus } from "../../wire/coding.ts";
import type { ActivityState } from "./activity.ts";

/** The facts that a session's status follows from. */
export interface StatusFacts {
  /** Whether its process lives, ours or somebody else's. */
  readonly alive: boolean;
  /** Whether the agent said that its session began, or painted its composer. */
  readonly ready: boolean;
  readonly hasTranscript: boolean;
}

/**
 * The seed's four states, by facts alone: `initializing` is an agent still booting, `failed` one that ended without writing.
 * @see the seed, "States and transitions"
 */
export function statusOf({ alive, ready, hasTranscript }: StatusFacts): SessionStatus {
  if (alive) return ready || hasTranscript ? "running" : "initializing";
  return hasTranscript ? "completed" : "failed";
}

/** An agent that has a prompt on its way to it is not idle, though it has not said so yet. */
export function activityOf(live: {
  readonly state: Pick<ActivityState, "activity" | "promptsTaken">;
  readonly outbox: { readonly unconfirmed: string | null };
}): Activity {
  const { state, outbox } = live;
  if (state.activity !== "idle" || outbox.unconfirmed === null) return state.activity;
  return state.promptsTaken === 0 ? "starting" : "working";
}
