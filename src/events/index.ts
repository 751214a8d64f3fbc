import { messageOf } from "../core/errors.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { createEventStore } from "./event-store.ts";
import { type StreamMessage, type StreamOptions, streamEvents } from "./event-stream.ts";
import { createWebhooks, type Webhooks, type WebhooksDeps } from "./webhooks.ts";

export type { StreamMessage, StreamOptions } from "./event-stream.ts";
export type { WebhookOwner, Webhooks } from "./webhooks.ts";

/** Codes that events throw. */
export type EventsErrorCode = "invalid_request" | "webhook_not_found";

/** What happens to sessions, kept for a while and told to whoever asked. */
export interface Events {
  /** The one way in. */
  readonly publisher: Pick<EventLog, "publish" | "flush" | "memoOf" | "memos">;
  readonly webhooks: Webhooks;
  /** The events that a reader may see, from the one after its last on, as they come. */
  stream(options: StreamOptions): AsyncGenerator<StreamMessage, void>;
  /** Writes what waits, and lets go of webhooks: what they did not get they get after the next start. Idempotent. */
  close(): Promise<void>;
}

export type EventsDeps = Omit<WebhooksDeps, "random">;

/** Opens the events of this store, and goes on with what webhooks did not get yet. */
export async function createEvents(deps: EventsDeps): Promise<Events> {
  const webhooks = createWebhooks(deps);
  const events = await createEventLog({
    ...deps,
    store: createEventStore(deps.db),
    beside: (written) => webhooks.beside(written),
    onWritten: () => webhooks.onWritten(),
  });
  const begun = webhooks
    .begin()
    .catch((error: unknown) => deps.log.warn({ reason: messageOf(error) }, "cannot go on with webhooks"));
  return {
    publisher: events,
    webhooks,
    stream: (options) => streamEvents({ ...deps, log: events }, options),
    async close() {
      await events.close();
      await begun;
      await webhooks.close();
    },
  };
}
