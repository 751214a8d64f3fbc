import { type ActivityState, isResting, type Observation } from "./activity.ts";
import type { TranscriptFollower } from "./transcript-follower.ts";

/** What a look at the transcript starts from. */
export interface TranscriptLook {
  readonly state: ActivityState;
  readonly transcript: Pick<TranscriptFollower, "hasNewTurn" | "newTurnIsOver" | "hasBegun" | "summary">;
  readonly hasHooks: boolean;
  /** Whether the agent keeps a state file, which knows better than its transcript whether a turn runs. */
  readonly keepsState: boolean;
  /** Whether no hook came for a while: one that was lost, or that this agent does not have for what happened. */
  readonly hooksSilent: boolean;
  /** Whether a prompt was sent and not confirmed. */
  readonly awaitsPrompt: boolean;
  /** That prompt, when it is in the transcript. */
  readonly promptTaken: string | null;
}

/**
 * What a transcript tells where no hook does: an aborted or failed turn at once (no agent has a hook for Esc), everything of an agent
 * without hooks or without a state file, and the rest when hooks have been silent. Pure.
 */
export function transcriptNews(look: TranscriptLook): readonly Observation[] {
  const { state, transcript, hasHooks, keepsState, hooksSilent } = look;
  const lastTurn = transcript.summary?.lastTurn ?? { kind: "none" };
  const working = state.activity === "working" || state.permissions.length > 0;
  const typedByOthers =
    !look.awaitsPrompt && !hasHooks && !working && transcript.hasNewTurn && lastTurn.kind === "open";
  const seen: readonly Observation[] =
    look.promptTaken !== null || typedByOthers ? [{ kind: "prompt_seen", prompt: look.promptTaken }] : [];
  if (seen.length === 0 && !keepsState && !look.awaitsPrompt && isResting(state) && transcript.hasBegun) {
    return [{ kind: "turn_seen" }];
  }
  const noHookTells = lastTurn.kind === "aborted" || lastTurn.kind === "failed" || !keepsState || hooksSilent;
  const runs = seen.length > 0 || (state.started && !isResting(state));
  if (!runs || !transcript.newTurnIsOver || !noHookTells) return seen;
  return [...seen, { kind: "turn_over" }];
}
