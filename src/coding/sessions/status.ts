import type { SessionStatus } from "../../wire/coding.ts";

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
