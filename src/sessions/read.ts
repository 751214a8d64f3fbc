import type { Clock } from "../core/clock.ts";
import type { TranscriptSummary, Transcripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { ReadInput, ReadOutput } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import { transcriptPathOf, untilNews } from "./read-news.ts";

/** What reading needs. */
export interface ReadDeps {
  readonly locator: SessionLocator;
  readonly transcripts: Transcripts;
  readonly clock: Clock;
}

const defaultLimit = 100;

/**
 * `coding_read_session`: the status and the conversation's turns, the newest `limit` of those between `after` and `before`, in order.
 * @see the seed, "coding_read_session"
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
    const turns =
      read === null ? [] : read.turns.map((turn) => (input.blocks === false ? { ...turn, blocks: [] } : turn));
    return {
      ...summary,
      turns,
      nextAfter: nextAfter(turns, read?.summary ?? null, input.after ?? -1),
      skippedLines: read?.summary.skippedLines ?? 0,
    };
  };
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

/** An unfinished last turn comes again, so its index is not passed. */
function nextAfter(turns: readonly Turn[], transcript: TranscriptSummary | null, after: number): number {
  const last = turns.at(-1);
  if (last === undefined) return after;
  const unfinished = transcript?.lastTurn.kind === "open" && last.index === transcript.turnCount - 1;
  return unfinished && last.role === "assistant" ? last.index - 1 : last.index;
}
