import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { readOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { reading } from "../api/client.ts";
import { useSessionEvents } from "../api/live-events.ts";
import { queryKeys, useAct } from "../api/query.ts";

export interface LoadedSession {
  readonly summary: SessionSummary;
  readonly store: TurnStore;
  readonly skippedLines: number;
  /** Consecutive reads without anything new. */
  readonly calm: number;
}

/** Turns per page, which is also the most in one response. */
const pageTurns = 40;
const mostTurns = 1_000;
const readMs = 30_000;
/** Turns before the one that is shown, so that scrolling up does not have to wait. */
const turnsBefore = 10;

/** A turn grows without events: poll while the agent works. */
const workingPollMs = 1_000;
/** The transcript lags behind the agent's events, and a session outside Postern has none. */
const calmLooks = 3;
const calmPollMs = 15_000;

export function useSession(sessionId: string) {
  const client = useQueryClient();
  const key = pageKey(sessionId);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => readOn(client, { sessionId, signal }),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined) return false;
      const { status, activity } = data.summary;
      if (status === "completed" || status === "failed") return data.calm < calmLooks ? workingPollMs : false;
      if (activity === "working" || activity === "starting") return workingPollMs;
      return data.calm < calmLooks ? workingPollMs : calmPollMs;
    },
  });
  const summary = query.data?.summary;
  // The session's id may have changed since the page opened, because the agent reported its own.
  const listen = useCallback(
    (event: SessionEvent) => {
      const ids = [summary?.sessionId, ...(summary?.sessionAliases ?? [])];
      const follows = event.kind === "session.created" && event.replaces === sessionId;
      if (event.sessionId !== sessionId && (follows || ids.includes(event.sessionId))) {
        void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
      }
    },
    [client, sessionId, summary],
  );
  useSessionEvents(listen);
  const older = useAct({
    mutationFn: async () => {
      const loaded = client.getQueryData<LoadedSession>(key);
      const [first] = loaded?.store.turns ?? [];
      if (loaded === undefined || first === undefined || !hasOlder(loaded.store)) return;
      const input = { sessionId, images: true, before: first.index, limit: pageTurns };
      const signal = AbortSignal.timeout(readMs);
      const { turns, nextAfter } = await reading.codingReadSession(input, { signal, output: readOutputSchema });
      client.setQueryData<LoadedSession>(key, (now) =>
        now === undefined ? now : { ...now, store: withTurns(now.store, { turns, nextAfter }) },
      );
    },
  });
  const loadTo = useCallback(
    async (index: number): Promise<void> => {
      for (;;) {
        const [first] = client.getQueryData<LoadedSession>(pageKey(sessionId))?.store.turns ?? [];
        if (first === undefined || first.index <= Math.max(0, index - turnsBefore)) return;
        const range = { before: first.index, after: Math.max(-1, index - turnsBefore - 1), limit: mostTurns };
        const signal = AbortSignal.timeout(readMs);
        const input = { sessionId, images: true, ...range };
        const { turns, nextAfter } = await reading.codingReadSession(input, { signal, output: readOutputSchema });
        if (turns.length === 0) return; // the transcript was replaced
        client.setQueryData<LoadedSession>(pageKey(sessionId), (now) =>
          now === undefined ? now : { ...now, store: withTurns(now.store, { turns, nextAfter }) },
        );
      }
    },
    [client, sessionId],
  );
  return { query, older, loadTo };
}

export function takeSummary(client: QueryClient, sessionId: string, summary: SessionSummary): void {
  client.setQueryData<LoadedSession>(pageKey(sessionId), (loaded) =>
    loaded === undefined ? loaded : { ...loaded, summary, calm: 0 },
  );
  void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
  void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
}

function pageKey(sessionId: string): readonly string[] {
  return [...queryKeys.session(sessionId), "page"];
}

async function readOn(
  client: QueryClient,
  { sessionId, signal }: { readonly sessionId: string; readonly signal: AbortSignal },
): Promise<LoadedSession> {
  const known = client.getQueryData<LoadedSession>(pageKey(sessionId));
  const begun = known !== undefined && known.store.turns.length > 0;
  const input = begun
    ? { sessionId, images: true, after: known.store.nextAfter, limit: mostTurns }
    : { sessionId, images: true, last: pageTurns };
  const answer = await reading.codingReadSession(input, { signal, output: readOutputSchema });
  const { turns, nextAfter, skippedLines, ...summary } = answer;
  const newest = known?.store.turns.at(-1);
  if (begun && newest !== undefined && answer.turnCount <= newest.index) {
    // The transcript was replaced: it is shorter than what was read.
    client.setQueryData<LoadedSession>(pageKey(sessionId), { ...known, store: noTurns });
    return readOn(client, { sessionId, signal });
  }
  // Older turns may have been loaded since.
  const store = withTurns(client.getQueryData<LoadedSession>(pageKey(sessionId))?.store ?? noTurns, {
    turns,
    nextAfter,
  });
  const same = store === known?.store && JSON.stringify(summary) === JSON.stringify(known.summary);
  return { summary: same ? known.summary : summary, store, skippedLines, calm: same ? known.calm + 1 : 0 };
}

/** The loaded turns, without gaps, and where to continue. */
export interface TurnStore {
  readonly turns: readonly Turn[];
  readonly nextAfter: number;
}

export const noTurns: TurnStore = { turns: [], nextAfter: -1 };

/** Whether there are older turns than those loaded. */
export function hasOlder({ turns }: TurnStore): boolean {
  return (turns[0]?.index ?? 0) > 0;
}

/** Merges an answer's turns. Unchanged turns stay the same objects. Turns after a gap replace all loaded turns, because too many were missed. */
export function withTurns(
  store: TurnStore,
  answer: { readonly turns: readonly Turn[]; readonly nextAfter: number },
): TurnStore {
  const [first] = answer.turns;
  const last = answer.turns.at(-1);
  const [oldest] = store.turns;
  const newest = store.turns.at(-1);
  const nextAfter = Math.max(store.nextAfter, answer.nextAfter);
  if (first === undefined || last === undefined) return nextAfter === store.nextAfter ? store : { ...store, nextAfter };
  if (oldest === undefined || newest === undefined) return { turns: answer.turns, nextAfter: answer.nextAfter };
  if (first.index > newest.index + 1) return { turns: answer.turns, nextAfter: answer.nextAfter };
  if (last.index < oldest.index - 1) return store;
  const fresh = new Map(answer.turns.map((turn) => [turn.index, turn]));
  const turns = [
    ...answer.turns.filter(({ index }) => index < oldest.index),
    ...store.turns.map((turn) => changed(turn, fresh.get(turn.index))),
    ...answer.turns.filter(({ index }) => index > newest.index),
  ];
  const same = turns.length === store.turns.length && turns.every((turn, at) => turn === store.turns[at]);
  if (same && nextAfter === store.nextAfter) return store;
  return { turns: same ? store.turns : turns, nextAfter };
}

function changed(before: Turn, now: Turn | undefined): Turn {
  return now === undefined || JSON.stringify(now) === JSON.stringify(before) ? before : now;
}
