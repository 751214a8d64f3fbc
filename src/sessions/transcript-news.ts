import { type ActivityState, isResting, type Observation } from "./activity.ts";
import type { TranscriptFollower } from "./transcript-follower.ts";

/** What a look at the transcript starts from. */
export interface TranscriptLook {
  readonly state: ActivityState;
  readonly transcript: Pick<TranscriptFollower, "hasNewTurn" | "newTurnIsOver" | "hasBegun" | "summary">;
  readonly hasHooks: boolean;
  /** Whether the agent's state file tells: it knows better than the transcript whether a turn runs. */
  readonly stateTells: boolean;
  /** Whether a prompt was sent and not confirmed. */
  readonly awaitsPrompt: boolean;
  /** That prompt, when it is in the transcript. */
  readonly promptTaken: string | null;
}

/**
 * What a transcript tells where neither hook nor state file does: that a turn began, that it ended, and how. A prompt of ours that no
 * hook confirmed is looked for in any case. Pure.
 */
export function transcriptNews(look: TranscriptLook): readonly Observation[] {
  const { state, transcript, hasHooks, stateTells } = look;
  const lastTurn = transcript.summary?.lastTurn ?? { kind: "none" };
  const working = state.activity === "working" || state.permissions.length > 0;
  const typedByOthers =
    !look.awaitsPrompt && !hasHooks && !working && transcript.hasNewTurn && lastTurn.kind === "open";
  const seen: readonly Observation[] =
    look.promptTaken !== null || typedByOthers ? [{ kind: "prompt_seen", prompt: look.promptTaken }] : [];
  if (seen.length === 0 && !stateTells && !look.awaitsPrompt && isResting(state) && transcript.hasBegun) {
    return [{ kind: "turn_seen" }];
  }
  const runs = seen.length > 0 || (state.started && !isResting(state));
  if (!runs || stateTells || !transcript.newTurnIsOver) return seen;
  if (lastTurn.kind !== "failed") return [...seen, { kind: "turn_over" }];
  const { message, needs } = lastTurn;
  return [...seen, needs === undefined ? { kind: "turn_failed", message } : { kind: "turn_failed", message, needs }];
}
