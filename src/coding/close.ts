import type { Clock } from "../core/clock.ts";
import { hasCode, isPosternError } from "../core/errors.ts";
import type { CloseAllOutput, CloseInput, CloseOutput } from "../wire/coding.ts";
import { codingError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";
import type { Caller } from "./ports.ts";
import type { LiveSessions } from "./sessions/live-sessions.ts";
import type { PromptQueue } from "./sessions/prompt-queue.ts";
import type { SessionEvents } from "./sessions/session-events.ts";
import type { SessionStore } from "./sessions/session-store.ts";

/** What closing needs. */
export interface CloseDeps {
  readonly locator: SessionLocator;
  readonly live: LiveSessions;
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly clock: Clock;
  readonly events: Pick<SessionEvents, "closed">;
}

/**
 * `coding_close_session`: ends the process group and gives up what waited to be sent. Closing what is closed changes nothing.
 * @see the seed, "coding_close_session"
 */
export function createClose(deps: CloseDeps): (input: CloseInput, caller: Caller) => Promise<CloseOutput> {
  return async (input, caller) => {
    await deps.locator.withSession(input.sessionId, caller, async (session) => {
      const holder = await deps.locator.externalHolder(session);
      if (holder !== null) {
        throw codingError(
          "session_busy",
          `Session ${session.record.sessionId} is running in process ${holder.pid}, outside this gateway. End it there.`,
        );
      }
      if (!session.stored) return;
      if (session.live !== null) await deps.live.end(session.live);
      const { sessionId } = session.live?.record ?? session.record;
      await deps.queue.loseAll(sessionId);
      if (session.record.closedAt !== null) return;
      await deps.store.update(sessionId, { closedAt: deps.clock.now() });
      const closed = await deps.store.find(sessionId);
      if (closed !== null) await deps.events.closed(closed);
    });
    const summary = await deps.locator.summaryOf(await deps.locator.locate(input.sessionId, caller));
    return { ...summary, worktree: null };
  };
}

/**
 * `coding_close_all`: closes every live session that the caller may see.
 * @see the seed, "coding_close_all"
 */
export function createCloseAll(
  deps: CloseDeps,
  close: (input: CloseInput, caller: Caller) => Promise<CloseOutput>,
): (caller: Caller) => Promise<CloseAllOutput> {
  return async (caller) => {
    const closed: CloseOutput[] = [];
    const failed: { sessionId: string; code: string; detail: string }[] = [];
    await Promise.all(
      deps.live.all().map(async ({ record: { sessionId } }) => {
        try {
          closed.push(await close({ sessionId }, caller));
        } catch (error) {
          if (hasCode(error, "session_not_found")) return; // not for this caller's eyes
          const known = isPosternError(error);
          failed.push({ sessionId, code: known ? error.code : "internal_error", detail: known ? error.message : "" });
        }
      }),
    );
    return { closed, failed };
  };
}
