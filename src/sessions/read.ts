import type { Attachments } from "../attachments/index.ts";
import { createChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import type { TranscriptSummary, Transcripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { ReadInput, ReadOutput } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";

export interface ReadDeps {
  readonly locator: SessionLocator;
  readonly transcripts: Transcripts;
  readonly attachments: Pick<Attachments, "ofSession">;
  readonly clock: Clock;
}

const defaultLimit = 100;

/**
 * `coding_read_session`: the status and the newest `limit` turns of the conversation between `after` and `before`, in order.
 * @see the specification, "coding_read_session"
 */
export function createRead(
  deps: ReadDeps,
): (input: ReadInput, caller: Caller, signal: AbortSignal) => Promise<ReadOutput> {
  return async (input, caller, signal) => {
    const deadline = deps.clock.now() + (input.waitMs ?? Number.POSITIVE_INFINITY);
    if (input.waitMs !== undefined) await untilNews(deps, { input, caller }, { timeoutMs: input.waitMs, signal });
    const session = await deps.locator.locate(input.sessionId, caller);
    await session.live?.untilWritten({ timeoutMs: deadline - deps.clock.now(), signal });
    const summary = await deps.locator.summaryOf(session);
    const read = await readTurns(deps, session, {
      ...(input.after === undefined ? {} : { after: input.after }),
      ...(input.before === undefined ? {} : { before: input.before }),
      limit: input.last ?? input.limit ?? defaultLimit,
      images: input.images === true,
    });
    const found = await withAttachments(deps, session, read?.turns ?? []);
    const turns = found.map((turn) => (input.blocks === false ? { ...turn, blocks: [] } : turn));
    return {
      ...summary,
      turns,
      nextAfter: nextAfter(turns, read?.summary ?? null, input.after ?? -1),
      skippedLines: read?.summary.skippedLines ?? 0,
    };
  };
}

/** A transcript has only untrusted paths of attachments, so only the attachments that the store has for this session are shown. */
async function withAttachments(
  { attachments }: ReadDeps,
  { record }: LocatedSession,
  turns: readonly Turn[],
): Promise<readonly Turn[]> {
  const ids = turns.flatMap((turn) => (turn.attachments ?? []).map(({ attachmentId }) => attachmentId));
  if (ids.length === 0) return turns;
  const stored = await attachments.ofSession([record.sessionId, ...record.aliases], [...new Set(ids)]);
  const known = new Map(stored.map((attachment) => [attachment.attachmentId, attachment]));
  return turns.map((turn) => {
    if (turn.attachments === undefined) return turn;
    const shown = turn.attachments.map((attachment) => {
      const { name, mediaType, sizeBytes } = known.get(attachment.attachmentId) ?? attachment;
      return { attachmentId: attachment.attachmentId, name, mediaType, sizeBytes };
    });
    return { ...turn, attachments: shown };
  });
}

async function readTurns(
  { transcripts }: ReadDeps,
  session: LocatedSession,
  range: { readonly after?: number; readonly limit: number; readonly images: boolean },
) {
  const path = transcriptPathOf(session);
  if (path === null || session.template.transcriptFormat === null) return null;
  return transcripts.read(path, session.template.transcriptFormat, range);
}

/** An unfinished last turn is returned again, so `nextAfter` stays before it. */
function nextAfter(turns: readonly Turn[], transcript: TranscriptSummary | null, after: number): number {
  const last = turns.at(-1);
  if (last === undefined) return after;
  const unfinished = transcript?.lastTurn.kind === "open" && last.index === transcript.turnCount - 1;
  return unfinished && last.role === "assistant" ? last.index - 1 : last.index;
}

export interface NewsDeps {
  readonly locator: Pick<SessionLocator, "locate" | "transcriptOf" | "summaryOf">;
  readonly transcripts: Transcripts;
  readonly clock: Clock;
}

// This finds changes that send no notification: a process outside Postern that starts or ends, or a session that is resumed here.
const lookAgainMs = 1_000;

/**
 * Waits for something new: a finished turn after `after`, growth of the unfinished one, a changed status or activity. Without `after`,
 * everything that exists at the time of the call is old.
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
      const { fingerprint, finishedTurns, activity } = await glance(deps, session);
      // The activity changed between two calls of the caller.
      if (before === null && input.activity !== undefined && activity !== input.activity) return;
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

/** The path of the session's transcript, if it is known. */
export function transcriptPathOf({ record, live }: LocatedSession): string | null {
  return live?.record.transcriptPath ?? record.transcriptPath;
}

/** Signals when a session changes: its transcript on disk, or the live session itself. A change between two waits is signaled to the second wait. */
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

  async function listen(session: LiveSession, { signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      let calls = 0;
      if (await session.until(() => calls++ > 0, { timeoutMs: lookAgainMs, signal })) ring();
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

/** What a wait compares. Costs one stat and a read of the appended lines, regardless of the turns' length. */
async function glance({ locator }: NewsDeps, session: LocatedSession) {
  const transcript = await locator.transcriptOf(session);
  const { status, activity, permissions, turnCount } = await locator.summaryOf(session);
  const { turnLines, lastTurn } = transcript ?? {};
  return {
    activity,
    finishedTurns: turnCount - (lastTurn?.kind === "open" ? 1 : 0),
    fingerprint: JSON.stringify([status, activity, permissions, turnCount, turnLines, lastTurn]),
  };
}
