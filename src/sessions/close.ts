import type { Clock } from "../core/clock.ts";
import { hasCode, isPosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { CloseAllOutput, CloseInput, CloseOutput } from "../wire/coding.ts";
import type { Worktrees } from "../worktrees/index.ts";
import { filesRule, visibleFiles } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { SessionEvents } from "./session-events.ts";
import type { SessionStore } from "./session-store.ts";
import { type SetUpDeps, tearDown } from "./set-up.ts";

export interface CloseDeps extends SetUpDeps {
  readonly locator: SessionLocator;
  readonly live: LiveSessions;
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly clock: Clock;
  readonly events: Pick<SessionEvents, "closed">;
  readonly worktrees: Pick<Worktrees, "close" | "ofSession">;
  readonly visibleAmong: VisibleAmong;
  readonly log: Log;
}

/**
 * `coding_close_session`: ends the process group, gives up queued prompts, and removes the session's worktree after saving its
 * uncommitted work. Closing a closed session changes nothing, except that a remaining worktree is removed.
 * @see the specification, "coding_close_session"
 */
export function createClose(deps: CloseDeps): (input: CloseInput, caller: Caller) => Promise<CloseOutput> {
  return async (input, caller) => {
    await stopSetup(deps, input.sessionId, caller);
    const worktree = await deps.locator.withSession(input.sessionId, caller, async (session) => {
      const holder = await deps.locator.externalHolder(session);
      if (holder !== null) {
        throw sessionError(
          "session_busy",
          `Session ${session.record.sessionId} is running in process ${holder.pid}, outside Postern. End it there.`,
        );
      }
      if (!session.stored) return null;
      await refuseUnderSuccessor(deps, session);
      if (session.live !== null) await deps.live.end(session.live);
      const { sessionId } = session.live?.record ?? session.record;
      await deps.queue.loseAll(sessionId);
      if (session.record.closedAt === null) await noteClosed(deps, sessionId);
      const teardown = await tearDown(deps, { sessionId, template: session.template });
      const closed = await deps.worktrees.close(sessionId, { discard: input.discardWorktree ?? false });
      return closed && { ...closed, ...(teardown && { teardown }) };
    });
    const located = await deps.locator.locate(input.sessionId, caller);
    const summary = await deps.locator.summaryOf(located);
    if (worktree === null) return { ...summary, worktree };
    const { ignoredLost } = worktree;
    const repository = (await deps.worktrees.ofSession(located.record.sessionId))?.repository ?? worktree.path;
    const visible = visibleFiles(repository, (dirs) => deps.visibleAmong(dirs, filesRule(caller)));
    const first20 = await visible(ignoredLost.first20, (path) => path);
    return { ...summary, worktree: { ...worktree, ignoredLost: { ...ignoredLost, first20: [...first20] } } };
  };
}

/** Ends a running setup script: a start locks its session until that script has ended, and no teardown can run next to it. */
async function stopSetup({ locator, scripts }: CloseDeps, given: string, caller: Caller): Promise<void> {
  const { sessionId } = (await locator.locate(given, caller)).record;
  const run = scripts.latest(sessionId, "setup");
  if (run?.state === "running") await scripts.stop(run.scriptId, caller);
}

/**
 * After `/clear` or `/resume` in the terminal, a process can run another session while it works in this session's worktree, which must then
 * be kept.
 */
async function refuseUnderSuccessor({ live, worktrees }: CloseDeps, { record }: LocatedSession): Promise<void> {
  const { sessionId, launchId } = record;
  const worktree = await worktrees.ofSession(sessionId);
  if (worktree === null || worktree.state === "removed" || launchId === null) return;
  const successor = live
    .all()
    .find(({ exit, record: other }) => exit === null && other.launchId === launchId && other.sessionId !== sessionId);
  if (successor === undefined) return;
  throw sessionError(
    "session_busy",
    `Session ${sessionId} was continued by ${successor.record.sessionId}, whose process still uses the worktree. Close that session first.`,
  );
}

async function noteClosed({ store, events, clock }: CloseDeps, sessionId: string): Promise<void> {
  await store.update(sessionId, { closedAt: clock.now() });
  const closed = await store.find(sessionId);
  if (closed !== null) await events.closed(closed);
}

/**
 * `coding_close_all`: closes every live session that the caller may see.
 * @see the specification, "coding_close_all"
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
          if (hasCode(error, "session_not_found")) return; // the caller cannot see it
          const known = isPosternError(error);
          failed.push({ sessionId, code: known ? error.code : "internal_error", detail: known ? error.message : "" });
        }
      }),
    );
    return { closed, failed };
  };
}
