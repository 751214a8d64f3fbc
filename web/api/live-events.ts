import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { EventsState } from "../../src/client/index.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { useReachable } from "./client.ts";
import { queryKeys } from "./query.ts";
import type { SessionPage } from "./sessions.ts";
import { followSharedEvents } from "./shared-events.ts";

/** Minimum time between reads of the live sessions, and of the longer lists. */
const liveMs = 400;
const listsMs = 1_500;

let state: EventsState = "connecting";
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(event: SessionEvent) => void>();

/** Follows events while the page is open, and updates the cache. @returns a function that stops it */
export function startLiveEvents(client: QueryClient): () => void {
  const ending = new AbortController();
  const live = oncePer(liveMs, () => void client.invalidateQueries({ queryKey: [...queryKeys.sessionLists, "live"] }));
  const lists = oncePer(listsMs, () => void client.invalidateQueries({ queryKey: queryKeys.sessionLists }));
  let wasOffline = false;
  void followSharedEvents(
    {
      onEvent(event) {
        patchLists(client, event);
        void client.invalidateQueries({ queryKey: queryKeys.session(event.sessionId) });
        live.soon();
        if (!carriesAll.has(event.kind)) lists.soon();
        for (const listener of eventListeners) listener(event);
      },
      onReset: () => void client.invalidateQueries(),
      onState(next) {
        // Repeats reads that failed while the gateway was unreachable.
        if (next === "live" && wasOffline) void client.invalidateQueries();
        wasOffline = next === "offline";
        setState(next);
      },
    },
    ending.signal,
  );
  return () => {
    ending.abort();
    live.cancel();
    lists.cancel();
  };
}

function useEventsState(): EventsState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    () => state,
  );
}

/** Whether the gateway is reachable. If it is not, only the note above the page shows this. */
export function useConnected(): boolean {
  const events = useEventsState();
  return useReachable() && events !== "offline";
}

/** Calls `listener` for each event. Keep it stable with `useCallback`. */
export function useSessionEvents(listener: (event: SessionEvent) => void): void {
  useEffect(() => {
    eventListeners.add(listener);
    return () => void eventListeners.delete(listener);
  }, [listener]);
}

function setState(next: EventsState): void {
  state = next;
  for (const listener of stateListeners) listener();
}

/** Runs `task` once, a while after the first request. */
function oncePer(delayMs: number, task: () => void): { readonly soon: () => void; readonly cancel: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    soon() {
      timer ??= setTimeout(() => {
        timer = undefined;
        task();
      }, delayMs);
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** Events that contain everything that lists show. */
const carriesAll: ReadonlySet<SessionEvent["kind"]> = new Set([
  "session.activity",
  "session.permission_asked",
  "session.queue_changed",
]);

type FromEvent = Pick<
  SessionSummary,
  | "status"
  | "activity"
  | "closedAt"
  | "pinned"
  | "archived"
  | "exitCode"
  | "signal"
  | "pid"
  | "owner"
  | "endedAfterIdleMs"
  | "queuedPrompts"
>;

/** The session, updated from the event. */
export function afterEvent<Session extends FromEvent>(session: Session, event: SessionEvent): Session {
  switch (event.kind) {
    case "session.created":
      return { ...session, status: event.status, activity: event.activity };
    case "session.status":
      return ended(event.status) ? gone({ ...session, status: event.status }) : { ...session, status: event.status };
    case "session.activity":
      return { ...session, activity: event.activity };
    case "session.exited": {
      const { status, exitCode, signal, endedAfterIdleMs } = event;
      return gone({ ...session, status, exitCode, signal, endedAfterIdleMs });
    }
    case "session.closed":
      return { ...session, closedAt: event.at };
    case "session.edited":
      return { ...session, pinned: event.pinned, archived: event.archived };
    case "session.queue_changed":
      return { ...session, queuedPrompts: event.queuedPrompts };
    case "session.turn_ended":
    case "session.permission_asked":
      return session;
  }
}

function ended(status: SessionSummary["status"]): boolean {
  return status === "completed" || status === "failed";
}

function gone<Session extends FromEvent>(session: Session): Session {
  return { ...session, activity: null, pid: null, owner: null };
}

export function patchLists(client: QueryClient, event: SessionEvent): void {
  const patch = (session: SessionSummary): SessionSummary =>
    session.sessionId === event.sessionId || session.sessionAliases.includes(event.sessionId)
      ? afterEvent(session, event)
      : session;
  client.setQueriesData<readonly SessionSummary[]>({ queryKey: [...queryKeys.sessionLists, "live"] }, (sessions) =>
    sessions?.map(patch),
  );
  for (const kind of ["list", "search"]) {
    client.setQueriesData<SessionPage>({ queryKey: [...queryKeys.sessionLists, kind] }, (page) => {
      // A page without the session stays the same object, so that it is not rendered again.
      if (page?.listed.some(({ session }) => patch(session) !== session) !== true) return page;
      const listed = page.listed.map((row) => {
        const session = patch(row.session);
        return session === row.session ? row : { ...row, session };
      });
      return { ...page, listed };
    });
  }
}
