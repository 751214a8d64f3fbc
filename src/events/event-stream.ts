import { type Clock, isoTime } from "../core/clock.ts";
import type { SessionEvent, StreamReset } from "../wire/events.ts";
import type { EventLog } from "./event-log.ts";

/** Whether a caller limited to `within` (real paths; null: no limit) can see events of a session in this directory. */
export type IsVisibleDir = (dir: string, within: readonly string[] | null) => Promise<boolean>;

export interface StreamOptions {
  /** The last event the reader saw; null for new events only. */
  readonly after: string | null;
  /** Only events of these sessions and those that continue them; null for all. */
  readonly sessionIds: readonly string[] | null;
  /** Real paths of folders the reader is limited to; null for no limit. */
  readonly within: readonly string[] | null;
  readonly signal: AbortSignal;
}

/** A message to a reader. `position` is sent first and after each silence: a reader resumes there when the connection breaks. */
export type StreamMessage =
  | { readonly kind: "position"; readonly id: string }
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "reset"; readonly reset: StreamReset };

/** Well below the idle timeouts of proxies. */
const heartbeatMs = 15_000;
const pageSize = 200;

/**
 * Streams the events a reader can see, as they are written. Slow readers do not use memory: each continues reading at its position, and gets
 * `reset` if events there are no longer kept. Ends when the signal is aborted.
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
  else if (!(await log.covers(options.after))) yield reset("The last event you saw is unknown or no longer kept.");
  while (!signal.aborted) {
    const page = await log.after(position, pageSize);
    // Pruning can delete events between a slow reader's position and this page.
    if (page.length > 0 && !(await log.covers(position))) {
      yield reset("You fell too far behind: some events you have not seen are no longer kept.");
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
    // Invisible events count as silence.
    if (news && clock.now() - sentAt < heartbeatMs) continue;
    sentAt = clock.now();
    yield { kind: "position", id: position };
  }
}
