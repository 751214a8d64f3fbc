import { isPosternError } from "../core/errors.ts";
import type { Caller } from "../wire/caller.ts";
import type { SessionDiff } from "../wire/changes.ts";
import type { Activity, ReadOutput } from "../wire/coding.ts";
import type { ComparedSession } from "../wire/comparisons.ts";
import type { Turn, Usage } from "../wire/turn.ts";
import type { ContenderRow } from "./comparison-store.ts";
import type { ComparisonPorts } from "./ports.ts";

/** The session of a contender and those that continued it, oldest first. */
export type SessionChain = readonly [ReadOutput, ...ReadOutput[]];

/** The session that has the contender's worktree: `/clear` moves it to the next session, but a resumed session keeps its own. */
export function placeIn(chain: SessionChain): ReadOutput {
  return chain.find(({ worktree }) => worktree !== null) ?? chain[0];
}

/** A session is continued with `/clear` or `/resume` in its terminal. A longer chain is cut off. */
const maxContinued = 20;
/** Of a session with more turns, the tokens stay unknown. */
const maxTurns = 1_000;
const maxAnswerCharacters = 4_000;
const maxPaths = 20;

/** @throws PosternError `session_not_found` */
export async function readChain(
  ports: Pick<ComparisonPorts, "read">,
  sessionId: string,
  { caller, turns }: { readonly caller: Caller; readonly turns: "all" | "last" },
): Promise<SessionChain> {
  const read = (id: string) =>
    ports.read({ sessionId: id, blocks: false, ...(turns === "all" ? { limit: maxTurns } : { last: 1 }) }, caller);
  let session = await read(sessionId);
  const chain: [ReadOutput, ...ReadOutput[]] = [session];
  const seen = new Set([session.sessionId]);
  while (session.continuedBy !== null && chain.length < maxContinued && !seen.has(session.continuedBy)) {
    try {
      session = await read(session.continuedBy);
    } catch (error) {
      if (isPosternError(error)) break; // forgotten, or not visible to the caller
      throw error;
    }
    seen.add(session.sessionId);
    chain.push(session);
  }
  return chain;
}

/** Whether closing it now would stop a turn. */
export function isWorking(activity: Activity | null): boolean {
  return (
    activity === "working" || activity === "starting" || activity === "needs_permission" || activity === "needs_answer"
  );
}

/** The state of a contender; `chain` is null if the caller cannot see its session. */
export function contenderState(
  { agent, model, session_id, error_code, error_detail }: ContenderRow,
  {
    chain,
    diff,
    kept,
  }: { readonly chain: SessionChain | null; readonly diff: SessionDiff | null; readonly kept: boolean },
): ComparedSession {
  const latest = chain?.at(-1) ?? null;
  const turns = chain?.flatMap((session) => session.turns) ?? [];
  const works = isWorking(latest?.activity ?? null);
  const ended = works ? turns.slice(0, -1) : turns;
  const usage = chain === null ? null : usageOf(chain);
  const last = ended.findLast(({ role }) => role === "assistant");
  const worktree = chain && placeIn(chain).worktree;
  return {
    agent,
    model: model ?? latest?.model ?? null,
    sessionId: latest?.sessionId ?? session_id,
    error: error_code === null ? null : { code: error_code, detail: error_detail ?? "" },
    status: latest?.status ?? null,
    activity: latest?.activity ?? null,
    startedAt: chain?.[0].createdAt ?? null,
    endedAt: works ? null : (last?.endedAt ?? null),
    workedMs: workedMs(ended),
    changes: diff && changesOf(diff),
    ...(usage && { usage }),
    answer: last === undefined || last.text === "" ? null : last.text.slice(0, maxAnswerCharacters).toWellFormed(),
    branch: worktree?.branch ?? latest?.branch ?? null,
    worktreeRemoved: worktree?.removed ?? false,
    rescue: worktree?.rescue ?? null,
    kept,
    closedAt: latest?.closedAt ?? null,
  };
}

/** The durations of turns, from each prompt to the end of its answer; null if none is known. */
function workedMs(turns: readonly Turn[]): number | null {
  let total: number | null = null;
  let askedAt: string | null = null;
  for (const { role, at, endedAt } of turns) {
    if (role === "user") askedAt = at;
    else {
      const from = askedAt ?? at;
      askedAt = null;
      if (from !== null && endedAt !== null) total = (total ?? 0) + Math.max(0, Date.parse(endedAt) - Date.parse(from));
    }
  }
  return total;
}

function usageOf(chain: SessionChain): Usage | null {
  if (chain.some(({ turnCount, turns }) => turnCount > turns.length)) return null;
  const known = chain.flatMap(({ turns }) => turns.flatMap(({ usage }) => (usage === null ? [] : [usage])));
  if (known.length === 0) return null;
  const sum = (of: (usage: Usage) => number): number => known.reduce((total, usage) => total + of(usage), 0);
  return {
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
  };
}

function changesOf({ files, truncated }: SessionDiff): ComparedSession["changes"] {
  const counted = files.some(({ additions, deletions }) => additions !== null || deletions !== null);
  const unknown = files.length > 0 && !counted && truncated;
  return {
    files: files.length,
    added: unknown ? null : files.reduce((total, { additions }) => total + (additions ?? 0), 0),
    removed: unknown ? null : files.reduce((total, { deletions }) => total + (deletions ?? 0), 0),
    paths: files
      .slice(0, maxPaths)
      .map(({ path, additions, deletions }) => ({ path, added: additions, removed: deletions })),
    truncated,
  };
}
