import { createChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import type { Transcripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { ReadInput } from "../wire/coding.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";

/** What waiting for news needs. */
export interface NewsDeps {
  readonly locator: Pick<SessionLocator, "locate" | "transcriptOf" | "summaryOf">;
  readonly transcripts: Transcripts;
  readonly clock: Clock;
}

// What nobody tells of is seen then: a process elsewhere that begins or ends, a session that is taken up here.
const lookAgainMs = 1_000;

/**
 * Waits for something new: a finished turn after `after`, growth of the unfinished one, another status or activity. Without
 * `after`, everything there is at the time of the call is old.
 */
export async function untilNews(
  deps: NewsDeps,
  { input, caller }: { readonly input: ReadInput; readonly caller: Caller },
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const bell = createBell(deps);
  try {
    let before: string | null = null;
    for (;;) {
      const session = await deps.locator.locate(input.sessionId, caller);
      bell.listenTo(session);
      const { fingerprint, finishedTurns } = await glance(deps, session);
      if (before === null && input.after !== undefined && finishedTurns > input.after + 1) return;
      before ??= fingerprint;
      const leftMs = deadline - performance.now();
      if (fingerprint !== before || leftMs <= 0 || signal.aborted) return;
      await bell.untilRung({ timeoutMs: Math.min(leftMs, lookAgainMs), signal });
    }
  } finally {
    bell.close();
  }
}

/** Where the session's transcript lies, as far as it is known. */
export function transcriptPathOf({ record, live }: LocatedSession): string | null {
  return live?.record.transcriptPath ?? record.transcriptPath;
}

/** Rings when a session changes: its transcript on disk, or the live session itself. A change between two waits rings at the second. */
interface Bell {
  listenTo(session: LocatedSession): void;
  untilRung(limits: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<void>;
  close(): void;
}

function createBell({ transcripts, clock }: NewsDeps): Bell {
  const rings = createChangeSignal(clock);
  let rung = false;
  let path: string | null = null;
  let unwatch = (): void => undefined;
  let live: LiveSession | null = null;
  let unlisten = new AbortController();

  function ring(): void {
    rung = true;
    rings.notify();
  }

  async function listen({ changes }: LiveSession, { signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      let calls = 0;
      if (await changes.until(() => calls++ > 0, { timeoutMs: lookAgainMs, signal })) ring();
    }
  }

  return {
    listenTo(session) {
      const nowAt = transcriptPathOf(session);
      if (nowAt !== path) {
        unwatch();
        path = nowAt;
        unwatch = nowAt === null ? () => undefined : transcripts.watch(nowAt, ring);
      }
      if (session.live !== live) {
        unlisten.abort();
        unlisten = new AbortController();
        live = session.live;
        if (live !== null) void listen(live, unlisten);
      }
    },
    async untilRung(limits) {
      await rings.until(() => rung, limits);
      rung = false;
    },
    close() {
      unwatch();
      unlisten.abort();
    },
  };
}

/** What a wait compares. It costs a look at the file and at what was appended, however long the turns are. */
async function glance({ locator }: NewsDeps, session: LocatedSession) {
  const transcript = await locator.transcriptOf(session);
  const { status, activity, permissions, turnCount } = await locator.summaryOf(session);
  const { turnLines, lastTurn } = transcript ?? {};
  return {
    finishedTurns: turnCount - (lastTurn?.kind === "open" ? 1 : 0),
    fingerprint: JSON.stringify([status, activity, permissions, turnCount, turnLines, lastTurn]),
  };
}
