import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { createEventStore } from "./event-store.ts";
import { type StreamMessage, type StreamOptions, streamEvents } from "./event-stream.ts";
import type { IsVisibleDir } from "./ports.ts";

export type { StreamMessage, StreamOptions } from "./event-stream.ts";

/** What happens to sessions, kept for a while and told to whoever asked. */
export interface Events {
  /** The one way in. */
  readonly publisher: Pick<EventLog, "publish" | "flush" | "memoOf" | "memos">;
  /**
   * The events that a reader may see, from the one after its last on, as they come.
   * @throws PosternError `rate_limited` when too many streams are open
   */
  stream(options: StreamOptions): AsyncGenerator<StreamMessage, void>;
  /** Writes what waits. Idempotent. */
  close(): Promise<void>;
}

/** Opens the events of this store. */
export async function createEvents(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly isVisible: IsVisibleDir;
}): Promise<Events> {
  const events = await createEventLog({
    ...deps,
    store: createEventStore(deps.db),
    beside: async () => async () => undefined,
  });
  return {
    publisher: events,
    stream: (options) => streamEvents({ ...deps, log: events }, options),
    close: () => events.close(),
  };
}
