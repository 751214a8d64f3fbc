import { type Clock, isoTime } from "../core/clock.ts";
import type { SessionEvent, StreamReset } from "../wire/events.ts";
import type { EventLog } from "./event-log.ts";
import type { IsVisibleDir } from "./ports.ts";

/** Which events a reader gets, and from where on. */
export interface StreamOptions {
  /** The last event that the reader saw, as it says; null is none: it begins with what comes now. */
  readonly after: string | null;
  /** Only events of these sessions, and of those that go on from them; null is all. */
  readonly sessionIds: readonly string[] | null;
  /** Real paths of folders that the reader is limited to; null is no limit. */
  readonly within: readonly string[] | null;
  readonly signal: AbortSignal;
}

/** What a reader is told. `position` comes first, and after every silence: go on from there when the connection breaks. */
export type StreamMessage =
  | { readonly kind: "position"; readonly id: string }
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "reset"; readonly reset: StreamReset };

// Far less than proxies wait before they end a silent connection.
const heartbeatMs = 15_000;
const pageSize = 200;

/**
 * The events that a reader may see, as they are written. Nothing waits in memory for a slow reader: it is where it is, and reads on from
 * there; when what it would read is no longer kept, it is told so with `reset`. Ends when the signal is aborted.
 */
export async function* streamEvents(
  deps: { readonly log: EventLog; readonly isVisible: IsVisibleDir; readonly clock: Clock },
  options: StreamOptions,
): AsyncGenerator<StreamMessage, void> {
  const { log, isVisible, clock } = deps;
  const { signal, within } = options;
  const sessions = options.sessionIds === null ? null : new Set(options.sessionIds);
  let position = options.after ?? log.newest;
  let sentAt = clock.now();

  function reset(reason: string): StreamMessage {
    position = log.newest;
    return { kind: "reset", reset: { kind: "reset", id: position, at: isoTime(clock.now()), reason } };
  }

  function isWanted(event: SessionEvent): boolean {
    if (sessions === null) return true;
    if (event.kind === "session.created" && event.replaces !== null && sessions.has(event.replaces)) {
      sessions.add(event.sessionId);
    }
    return sessions.has(event.sessionId);
  }

  if (options.after === null) yield { kind: "position", id: position };
  else if (!(await log.covers(options.after))) yield reset("The last event that you saw is too old, or unknown.");
  while (!signal.aborted) {
    const page = await log.after(position, pageSize);
    // Pruning goes on while a slow reader reads: what lies between its place and the page may be gone.
    if (page.length > 0 && !(await log.covers(position))) {
      yield reset("You were too slow: events that you did not see are no longer kept.");
      continue;
    }
    for (const event of page) {
      position = event.id;
      if (isWanted(event) && (await isVisible(event.dir, within))) {
        sentAt = clock.now();
        yield { kind: "event", event };
      }
      if (signal.aborted) return;
    }
    const timeoutMs = Math.min(heartbeatMs, heartbeatMs - (clock.now() - sentAt));
    const news = page.length > 0 || (await log.changes.until(() => log.newest > position, { timeoutMs, signal }));
    if (signal.aborted) return;
    // Events that it may not see are silence too.
    if (news && clock.now() - sentAt < heartbeatMs) continue;
    sentAt = clock.now();
    yield { kind: "position", id: position };
  }
}
