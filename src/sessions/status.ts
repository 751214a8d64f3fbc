import type { ExternalHolder } from "../agents/index.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import type { Activity, SessionStatus } from "../wire/coding.ts";
import type { ActivityState } from "./activity.ts";

/** The facts that determine a session's status. */
export interface StatusFacts {
  /** Whether its process lives, inside or outside Postern. */
  readonly alive: boolean;
  /** Whether the agent reported the start of its session, or painted its composer. */
  readonly ready: boolean;
  readonly hasTranscript: boolean;
}

/**
 * The specification's four states: `initializing` while the agent is booting, `failed` if it ended without a transcript.
 * @see the specification, "States and transitions"
 */
export function statusOf({ alive, ready, hasTranscript }: StatusFacts): SessionStatus {
  if (alive) return ready || hasTranscript ? "running" : "initializing";
  return hasTranscript ? "completed" : "failed";
}

/** Whether a limit was reached that has ended since. */
export function limitIsOver(state: Pick<ActivityState, "activity">, transcript: LastTurn | null, now: number): boolean {
  const resetsAt = limitEnd(state, transcript);
  return resetsAt !== null && Date.parse(resetsAt) <= now;
}

type LastTurn = Pick<TranscriptSummary, "lastTurn">;

/** When the limit that a session has reached ends, as ISO 8601; null when the agent does not report it. */
export function limitEnd({ activity }: Pick<ActivityState, "activity">, transcript: LastTurn | null): string | null {
  if (activity !== "limited" || transcript?.lastTurn.kind !== "failed") return null;
  return transcript.lastTurn.resetsAt ?? null;
}

/** What a process outside Postern is doing, according to its own report or, if there is none, to the state of its last turn. */
export function externalActivity(holder: ExternalHolder, transcript: Partial<LastTurn> | null): Activity | null {
  if (holder.activity !== null) return holder.activity;
  if (transcript === null) return "idle";
  if (transcript.lastTurn === undefined) return null;
  return transcript.lastTurn.kind === "open" ? "working" : "idle";
}

/** An agent with a prompt in flight is not idle, although it has not reported that yet. */
export function activityOf(live: {
  readonly state: Pick<ActivityState, "activity" | "promptsTaken">;
  readonly outbox: { readonly unconfirmed: string | null };
}): Activity {
  const { state, outbox } = live;
  if (state.activity !== "idle" || outbox.unconfirmed === null) return state.activity;
  return state.promptsTaken === 0 ? "starting" : "working";
}
