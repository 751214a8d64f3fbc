import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { readOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { callTool } from "../api/client.ts";
import { useSessionEvents } from "../api/live-events.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { hasOlder, noTurns, type TurnStore, withTurns } from "./turn-store.ts";

/** A session with those of its turns that the page has. */
export interface LoadedSession {
  readonly summary: SessionSummary;
  readonly store: TurnStore;
  readonly skippedLines: number;
  /** How many looks in a row brought nothing new. */
  readonly calm: number;
}

/** Turns at a time, and the most that one answer can hold. */
const pageTurns = 40;
const mostTurns = 1_000;
const readMs = 30_000;

/** A turn grows without an event: while the agent works, it is looked at. */
const workingPollMs = 1_000;
/** The transcript follows the agent's word by a moment, and another program's work has no events at all. */
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
  // The session may have got another id since the page was opened: its own, as the agent reported it.
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
      const { turns, nextAfter } = await callTool("coding_read_session", readOutputSchema, { input, signal });
      client.setQueryData<LoadedSession>(key, (now) =>
        now === undefined ? now : { ...now, store: withTurns(now.store, { turns, nextAfter }) },
      );
    },
  });
  return { query, older };
}

/** Takes what a call answered before the next look does. */
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
  const answer = await callTool("coding_read_session", readOutputSchema, { input, signal });
  const { turns, nextAfter, skippedLines, ...summary } = answer;
  const newest = known?.store.turns.at(-1);
  if (begun && newest !== undefined && answer.turnCount <= newest.index) {
    // The transcript is another one: shorter than what was read.
    client.setQueryData<LoadedSession>(pageKey(sessionId), { ...known, store: noTurns });
    return readOn(client, { sessionId, signal });
  }
  // Meanwhile older ones may have been loaded.
  const store = withTurns(client.getQueryData<LoadedSession>(pageKey(sessionId))?.store ?? noTurns, {
    turns,
    nextAfter,
  });
  const same = store === known?.store && JSON.stringify(summary) === JSON.stringify(known.summary);
  return { summary: same ? known.summary : summary, store, skippedLines, calm: same ? known.calm + 1 : 0 };
}
