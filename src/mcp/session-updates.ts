import { messageOf } from "../core/errors.ts";
import type { EventKind, SessionEvent } from "../wire/events.ts";
import type { McpDeps } from "./ports.ts";

/** After these a session reads differently: not at every word of the agent. */
const telling: ReadonlySet<EventKind> = new Set([
  "session.turn_ended",
  "session.permission_asked",
  "session.exited",
  "session.closed",
]);
const retryMs = 5_000;

/** Something that happened to a session. */
export interface SessionUpdate {
  readonly sessionId: string;
  /** The id under which it was known before, when it just began to go on from there. */
  readonly replaces: string | null;
  /** Whether it reads differently now. */
  readonly isChange: boolean;
}

/** Tells those who subscribed to sessions that one of them has changed. Who may see which is settled when they subscribe. */
export interface SessionUpdates {
  /** @returns stops telling */
  subscribe(listener: (update: SessionUpdate) => void): () => void;
  close(): void;
}

/** Follows the events for as long as somebody listens. */
export function createSessionUpdates({
  events,
  clock,
  log,
}: Pick<McpDeps, "events" | "clock" | "log">): SessionUpdates {
  const listeners = new Set<(update: SessionUpdate) => void>();
  let following: AbortController | undefined;

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const message of events({ after: null, sessionIds: null, within: null, signal })) {
          const update = message.kind === "event" ? updateOf(message.event) : null;
          if (update === null) continue;
          for (const listener of listeners) listener(update);
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ reason: messageOf(error) }, "following sessions for MCP subscriptions broke off");
        await clock.sleep(retryMs, signal).catch(() => undefined); // the signal: the loop sees it
      }
    }
  }

  function stopWhenAlone(): void {
    if (listeners.size > 0) return;
    following?.abort();
    following = undefined;
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      if (following === undefined) {
        following = new AbortController();
        void follow(following.signal);
      }
      return () => {
        listeners.delete(listener);
        stopWhenAlone();
      };
    },
    close() {
      listeners.clear();
      stopWhenAlone();
    },
  };
}

function updateOf(event: SessionEvent): SessionUpdate | null {
  const replaces = event.kind === "session.created" ? event.replaces : null;
  const isChange = telling.has(event.kind);
  return isChange || replaces !== null ? { sessionId: event.sessionId, replaces, isChange } : null;
}
