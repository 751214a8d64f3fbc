import type { Clock } from "../core/clock.ts";
import { isResting } from "./activity.ts";
import type { LiveSession } from "./live-session.ts";

// The contract's limit for an agent to report its own id. Claude Code and Codex report it within a second.
const bootMs = 15_000;

// An agent that began a new session writes its transcript a moment after the end of its first turn.
const confirmMs = 5_000;

/** How long a caller waits. */
export interface CallerLimits {
  /** The caller's own bound, milliseconds from now. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits until a prompt's fate is known and the agent has reported its own id, or until it is clear that this takes longer: the
 * prompt is queued behind a running turn, the agent needs attention, or 15 s have passed.
 */
export async function untilTaken(
  live: LiveSession,
  promptId: string,
  { timeoutMs, signal }: CallerLimits,
): Promise<void> {
  const taken = (): boolean => {
    if (live.exit !== null || live.state.activity === "needs_attention") return true;
    const state = live.outbox.progressOf(promptId)?.state ?? null;
    if (state === "queued") {
      return live.outbox.draft || (!isResting(live.state) && live.state.activity !== "starting");
    }
    if (state === "received") return false;
    if (state === "sent" && (live.outbox.unconfirmed !== null || live.outbox.isTyping(promptId))) return false;
    return !live.provisional;
  };
  await live.until(taken, { timeoutMs: Math.min(bootMs, timeoutMs), signal });
  if (live.exit !== null) await live.ended();
}

/** Waits until the agent has reported its own id, or has ended, or 15 s have passed. */
export async function untilNamed(live: LiveSession, signal: AbortSignal): Promise<void> {
  const named = (): boolean => live.exit !== null || !live.provisional || live.state.activity === "needs_attention";
  await live.until(named, { timeoutMs: bootMs, signal });
  if (live.exit !== null) await live.ended();
}

/** Waits until a prompt's turn has ended, a person is needed, the process is gone, or the time is up. */
export async function untilTurnEnds(
  live: LiveSession,
  promptId: string,
  { clock, timeoutMs, signal }: CallerLimits & { readonly clock: Clock },
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  const ended = await live.until(
    () => {
      const progress = live.outbox.progressOf(promptId);
      if (live.exit !== null) return true;
      // The prompt is not known here: it was sent by an earlier gateway, and its turn runs or has ended.
      if (progress === null) return isResting(live.state) || needsPerson(live);
      if (live.state.activity === "needs_attention") return true;
      return progress.turnOver || (progress.state !== "sent" && needsPerson(live));
    },
    { timeoutMs, signal },
  );
  if (live.exit !== null) await live.ended();
  else if (ended && !needsPerson(live)) {
    await live.untilWritten({ timeoutMs: deadline - clock.now(), signal });
    const confirmed = (): boolean => live.outbox.progressOf(promptId)?.state !== "received";
    await live.until(confirmed, { timeoutMs: Math.min(confirmMs, deadline - clock.now()), signal });
  }
}

function needsPerson({ state }: LiveSession): boolean {
  return (
    state.activity === "needs_permission" ||
    state.activity === "needs_answer" ||
    state.activity === "needs_attention" ||
    state.activity === "needs_login" ||
    state.activity === "limited"
  );
}
