import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { SessionEvent } from "../../src/wire/events.ts";
import { useReachable } from "./client.ts";
import type { EventsState } from "./events.ts";
import { queryKeys } from "./query.ts";
import { patchLists } from "./session-cache.ts";
import { followSharedEvents } from "./shared-events.ts";

/** The short list of live sessions is read again at most this often, however much happens; the long lists have several pages. */
const liveMs = 400;
const listsMs = 1_500;

let state: EventsState = "connecting";
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(event: SessionEvent) => void>();

/**
 * Follows what happens, for as long as the page is open, and keeps the cache by it.
 * @returns ends it
 */
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
        // What an agent does says its event; what is new of it otherwise is read.
        if (event.kind !== "session.activity" && event.kind !== "session.permission_asked") lists.soon();
        for (const listener of eventListeners) listener(event);
      },
      onReset: () => void client.invalidateQueries(),
      onState(next) {
        // What failed while the gateway did not answer is read again.
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

/** Whether the gateway answers, as far as this page knows. While it does not, the note above the page says so, once. */
export function useConnected(): boolean {
  const events = useEventsState();
  return useReachable() && events !== "offline";
}

/** Calls `listener` for each event; it should stay the same function (`useCallback`). */
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

/** Runs `task` a while after it was asked for, and once for all who asked meanwhile. */
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
