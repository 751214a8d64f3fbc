import type { FoundAtRest, SessionEffect, SessionMessage, SessionState } from "./session-state.ts";

interface Step {
  readonly state: SessionState;
  readonly effects: readonly SessionEffect[];
}

/** When the agent will be ended if it stays unused, in epoch milliseconds; null while it is in use, or if it is kept running. */
export function idleEndsAt(state: SessionState, idleTimeoutMs: number): number | null {
  const { life, identity, activity, prompts, transcript, hooks, use, restingSince } = state;
  if (life.kind !== "running" || identity.record.keepRunning || use.viewers > 0) return null;
  if (activity.activity !== "idle" || activity.turnRuns || activity.permissions.length > 0) return null;
  if (prompts.sent !== null || prompts.received.length > 0 || prompts.waiting.length > 0) return null;
  if (transcript.summary === null) return null; // there is nothing to resume
  const written = Date.parse(transcript.summary.updatedAt ?? "") || 0;
  return (
    Math.max(identity.record.updatedAt, use.lastAt, restingSince, written, hooks.any ? hooks.lastAt : 0) + idleTimeoutMs
  );
}

/** Whether an agent at rest can be ended. If anything is unknown, it cannot. */
function isUnused({ observed, draft, runsTask, canResume }: FoundAtRest): boolean {
  if (observed === "unknown" || draft !== "" || runsTask || !canResume) return false;
  return observed === "none" || (observed.activity === "idle" && observed.inBackground !== true);
}

/** A viewer attached or left. When the last viewer leaves, the time is recorded for a gateway that finds the agent later. */
export function viewed(state: SessionState, did: "attach" | "leave", now: number): Step {
  const viewers = Math.max(0, state.use.viewers + (did === "attach" ? 1 : -1));
  const effects: readonly SessionEffect[] = viewers === 0 ? [{ kind: "note_use", at: now }] : [];
  return { state: { ...state, use: { ...state.use, viewers, lastAt: now } }, effects };
}

/**
 * The agent accepted a prompt. The hooks of an agent that ran before this gateway are read from its start; without them, the time of its
 * first prompt is unknown.
 */
export function usedByPrompt(use: SessionState["use"], reportedAt: number | null, now: number): SessionState["use"] {
  const seenAt = use.ranBefore ? null : now;
  return { ...use, firstPromptAt: use.firstPromptAt ?? reportedAt ?? seenAt };
}

/** An agent that is due but in use, for example with text in its composer, is due again after another full idle time. */
export function idleChecked(
  state: SessionState,
  { found, idleTimeoutMs }: Extract<SessionMessage, { kind: "idle_checked" }>,
  now: number,
): Step {
  const endsAt = idleEndsAt(state, idleTimeoutMs);
  if (endsAt === null || endsAt > now) return { state, effects: [] };
  if (!isUnused(found)) return { state: { ...state, use: { ...state.use, lastAt: now } }, effects: [] };
  const idleMs = now - endsAt + idleTimeoutMs;
  return { state: { ...state, life: { kind: "retiring", idleMs } }, effects: [{ kind: "retire" }] };
}
