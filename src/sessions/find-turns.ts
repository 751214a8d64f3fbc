import { setImmediate as nextTask } from "node:timers/promises";
import { createGate } from "../core/gate.ts";
import type { Transcripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { Block, Turn } from "../wire/turn.ts";
import type { NextTurn, NextTurnQuery, TurnMark, TurnSearch, TurnSearchQuery } from "../wire/turn-search.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import { transcriptPathOf } from "./read.ts";

/** Finds turns in one session's transcript, of any length. */
export interface FindTurns {
  /** The turns that contain a text, in order. @throws PosternError `session_not_found` | `rate_limited` */
  search(sessionId: string, query: TurnSearchQuery, by: TurnReader): Promise<TurnSearch>;
  /** The nearest turn of a kind. @throws PosternError `session_not_found` | `rate_limited` */
  next(sessionId: string, query: NextTurnQuery, by: TurnReader): Promise<NextTurn>;
}

export interface TurnReader {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Turns that are parsed at once. */
const turnsAtOnce = 20;
/** Each may read a whole transcript. */
const searches = { atOnce: 2, waiting: 16 };

export function createFindTurns({
  locator,
  transcripts,
}: {
  readonly locator: Pick<SessionLocator, "locate" | "transcriptOf">;
  readonly transcripts: Pick<Transcripts, "read">;
}): FindTurns {
  const gate = createGate(searches);

  async function read(session: LocatedSession, range: { readonly after: number; readonly before: number }) {
    const path = transcriptPathOf(session);
    const { transcriptFormat } = session.template;
    if (path === null || transcriptFormat === null) return [];
    const limit = range.before - range.after - 1;
    const answer = await transcripts.read(path, transcriptFormat, { ...range, limit });
    await nextTask(); // other requests come between
    return answer?.turns ?? [];
  }

  /** Parts of the conversation, starting at `from`, in this direction. */
  async function* parts(
    session: LocatedSession,
    { from, direction, signal }: Pick<NextTurnQuery, "from" | "direction"> & { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly Turn[], void> {
    const turnCount = (await locator.transcriptOf(session))?.turnCount ?? 0;
    const forward = direction === "next";
    let at = forward ? from : Math.min(from, turnCount);
    while (forward ? at < turnCount - 1 : at > 0) {
      signal.throwIfAborted();
      const range = forward
        ? { after: at, before: Math.min(turnCount, at + turnsAtOnce + 1) }
        : { after: Math.max(-1, at - turnsAtOnce - 1), before: at };
      const turns = await read(session, range);
      yield forward ? turns : turns.toReversed();
      at = forward ? range.before - 1 : range.after + 1;
    }
  }

  return {
    search: (sessionId, { q, limit }, { caller, signal }) =>
      gate.run(async () => {
        const session = await locator.locate(sessionId, caller);
        const turnCount = (await locator.transcriptOf(session))?.turnCount ?? 0;
        const matches: TurnSearch["matches"] = [];
        for await (const turns of parts(session, { from: -1, direction: "next", signal })) {
          for (const turn of turns) {
            const found = matchOf(turn, q.toLowerCase());
            if (found === null) continue;
            if (matches.length === limit) return { matches, turnCount, truncated: true };
            matches.push(found);
          }
        }
        return { matches, turnCount, truncated: false };
      }),

    next: (sessionId, { mark, from, direction }, { caller, signal }) =>
      gate.run(async () => {
        const session = await locator.locate(sessionId, caller);
        for await (const turns of parts(session, { from, direction, signal })) {
          const found = turns.find((turn) => has(turn, mark));
          if (found !== undefined) return { index: found.index };
        }
        return { index: null };
      }),
  };
}

function has(turn: Turn, mark: TurnMark): boolean {
  if (mark === "prompt") return turn.role === "user";
  return (
    turn.interrupted === true || turn.blocks.some((block) => block.type === "tool_call" && block.result?.ok === false)
  );
}

function matchOf(turn: Turn, query: string): TurnSearch["matches"][number] | null {
  const texts = turn.blocks.length === 0 ? [turn.text] : turn.blocks.flatMap(textsOf);
  let count = 0;
  let snippet: string | null = null;
  for (const text of texts) {
    const lower = text.toLowerCase();
    for (let at = lower.indexOf(query); at !== -1; at = lower.indexOf(query, at + query.length)) {
      count += 1;
      snippet ??= around(text, at, query.length);
    }
  }
  return snippet === null ? null : { index: turn.index, count, snippet };
}

/** All displayed text of a block. */
function textsOf(block: Block): readonly string[] {
  if (block.type !== "tool_call") return [block.text];
  return [block.name, ...stringsIn(block.input), block.result?.text ?? ""];
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

const snippetCharacters = 60;

function around(text: string, at: number, length: number): string {
  const from = Math.max(0, at - snippetCharacters);
  const to = Math.min(text.length, at + length + snippetCharacters);
  const line = text
    .slice(from, to)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}
