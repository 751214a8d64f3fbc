import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { SessionLocator } from "./locate.ts";

// A minute more or less does not matter. With a shorter timeout, as in tests, checks are more frequent.
const longestCheckMs = 60_000;
const checksInTimeout = 20;
// After the gateway starts or the machine wakes up, viewers and callers come back within this time.
const longestGraceMs = 5 * 60_000;
const gracesInTimeout = 10;

/** Ends idle agents; see {@link createIdleRetirement}. */
export interface IdleRetirement {
  close(): void;
}

/** Whether the machine slept, or the gateway was suspended, since the previous check. */
export function sleptSince(lastCheckAt: number, now: number, checkMs: number): boolean {
  return now - lastCheckAt > 2 * checkMs + 30_000;
}

/** The sessions that are due, the longest idle first. Pure. */
export function dueSessions<T extends { readonly idleEndsAt: number | null }>(
  sessions: readonly T[],
  now: number,
): readonly T[] {
  const due = sessions.flatMap((session) => {
    const { idleEndsAt } = session;
    return idleEndsAt !== null && idleEndsAt <= now ? [{ session, idleEndsAt }] : [];
  });
  return due.toSorted((a, b) => a.idleEndsAt - b.idleEndsAt).map(({ session }) => session);
}

/** Ends agents that were idle for too long, one after another. Their sessions can be resumed. */
export function createIdleRetirement(deps: {
  readonly live: Pick<LiveSessions, "all">;
  readonly locator: Pick<SessionLocator, "withLive">;
  readonly idleTimeoutMs: number | null;
  readonly clock: Clock;
  readonly log: Log;
}): IdleRetirement {
  const { live, locator, idleTimeoutMs, clock, log } = deps;
  if (idleTimeoutMs === null) return { close: () => undefined };
  const checkMs = Math.min(longestCheckMs, idleTimeoutMs / checksInTimeout);
  const graceMs = Math.min(longestGraceMs, idleTimeoutMs / gracesInTimeout);
  let checkedAt = clock.now();
  let notBefore = checkedAt + graceMs;
  let closed = false;
  let cancel = (): void => undefined;

  async function check(): Promise<void> {
    for (const session of isEarly() ? [] : dueSessions(live.all(), clock.now())) {
      if (closed || isEarly()) return;
      await locator
        .withLive(session, () => retire(session))
        .catch((error: unknown) => {
          if (closed) return; // the terminal host's connection is closed, too
          log.warn({ sessionId: session.record.sessionId, error }, "cannot end an idle agent");
        });
    }
  }

  /** Also notices that the machine slept. */
  function isEarly(): boolean {
    const now = clock.now();
    if (sleptSince(checkedAt, now, checkMs)) notBefore = now + graceMs;
    checkedAt = now;
    return now < notBefore;
  }

  async function retire(session: LiveSession): Promise<void> {
    await session.retire();
    const { sessionId, agent, endedAfterIdleMs } = session.record;
    if (session.exit !== null) log.info({ sessionId, agent, endedAfterIdleMs }, "ended an idle agent");
  }

  function plan(): void {
    if (closed) return;
    cancel = clock.after(checkMs, () => void check().finally(plan));
  }

  plan();
  return {
    close() {
      closed = true;
      cancel();
    },
  };
}
