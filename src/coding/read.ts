import { createHash } from "node:crypto";
import type { ReadInput, ReadOutput } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { Caller } from "./ports.ts";
import type { TranscriptSummary, Transcripts } from "./transcripts/transcript.ts";

/** What reading needs. */
export interface ReadDeps {
  readonly locator: SessionLocator;
  readonly transcripts: Transcripts;
}

const defaultLimit = 100;
// A session that nobody here runs changes only on disk.
const pollMs = 250;
// A change that fell between two looks is seen at the next.
const lookAgainMs = 1_000;

/**
 * `coding_read_session`: the status and the conversation's turns, the newest `limit` of those after `after`, in order.
 * @see the seed, "coding_read_session"
 */
export function createRead(
  deps: ReadDeps,
): (input: ReadInput, caller: Caller, signal: AbortSignal) => Promise<ReadOutput> {
  return async (input, caller, signal) => {
    if (input.waitMs !== undefined) await untilNews(deps, { input, caller }, { timeoutMs: input.waitMs, signal });
    const session = await deps.locator.locate(input.sessionId, caller);
    await session.live?.untilWritten(signal);
    const summary = await deps.locator.summaryOf(session);
    const read = await readTurns(deps, session, {
      ...(input.after === undefined ? {} : { after: input.after }),
      limit: input.last ?? input.limit ?? defaultLimit,
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
  { record, template, live }: LocatedSession,
  range: { readonly after?: number; readonly limit: number },
) {
  const path = live?.record.transcriptPath ?? record.transcriptPath;
  if (path === null || template.transcriptFormat === null) return null;
  return transcripts.read(path, template.transcriptFormat, range);
}

/** An unfinished last turn comes again, so its index is not passed. */
function nextAfter(turns: readonly Turn[], transcript: TranscriptSummary | null, after: number): number {
  const last = turns.at(-1);
  if (last === undefined) return after;
  const unfinished = transcript?.lastTurn.kind === "open" && last.index === transcript.turnCount - 1;
  return unfinished && last.role === "assistant" ? last.index - 1 : last.index;
}

/**
 * Waits for something new: a finished turn after `after`, growth of the unfinished one, another status or activity. Without
 * `after`, everything there is at the time of the call is old.
 */
async function untilNews(
  deps: ReadDeps,
  { input, caller }: { readonly input: ReadInput; readonly caller: Caller },
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const before = await glance(deps, input.sessionId, caller);
  if (input.after !== undefined && before.finishedTurns > input.after + 1) return;
  for (;;) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0 || signal.aborted) return;
    const { live } = await deps.locator.locate(input.sessionId, caller);
    let changes = 0;
    // Any change of a live session wakes it; one that lives elsewhere is looked at again and again.
    await live?.changes.until(() => changes++ > 0, { timeoutMs: Math.min(leftMs, lookAgainMs), signal });
    if (live === null) await pause(Math.min(pollMs, leftMs), signal);
    const now = await glance(deps, input.sessionId, caller);
    if (now.fingerprint !== before.fingerprint) return;
  }
}

async function glance(deps: ReadDeps, sessionId: string, caller: Caller) {
  const session = await deps.locator.locate(sessionId, caller);
  const transcript = await deps.locator.transcriptOf(session);
  const { status, activity, permissions, turnCount } = await deps.locator.summaryOf(session);
  const open = transcript?.lastTurn.kind === "open" ? 1 : 0;
  const last = transcript === null ? null : await readTurns(deps, session, { limit: 1 });
  const facts = JSON.stringify([status, activity, permissions, turnCount, last?.turns]);
  return { finishedTurns: turnCount - open, fingerprint: createHash("sha256").update(facts).digest("base64") };
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener("abort", finish, { once: true });
  });
}
