import { messageOf } from "../core/errors.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { createEventStore } from "./event-store.ts";
import { type StreamMessage, type StreamOptions, streamEvents } from "./event-stream.ts";
import { createWebhooks, type Webhooks, type WebhooksDeps } from "./webhooks.ts";

export type { StreamMessage, StreamOptions } from "./event-stream.ts";
export type { WebhookOwner, Webhooks } from "./webhooks.ts";

/** Codes that events throw. */
export type EventsErrorCode = "invalid_request" | "webhook_not_found";

/** Session events: kept for a while, streamed to readers and sent to webhooks. */
export interface Events {
  readonly publisher: Pick<EventLog, "publish" | "flush" | "memoOf" | "memos">;
  readonly webhooks: Webhooks;
  /** Events that the reader can see, after the last one that it received. */
  stream(options: StreamOptions): AsyncGenerator<StreamMessage, void>;
  /** Writes queued events and stops deliveries, which continue after the next start. Idempotent. */
  close(): Promise<void>;
}

export type EventsDeps = Omit<WebhooksDeps, "random">;

/** Opens the store's events and resumes webhook deliveries. */
export async function createEvents(deps: EventsDeps): Promise<Events> {
  const webhooks = createWebhooks(deps);
  const events = await createEventLog({
    ...deps,
    store: createEventStore(deps.db),
    alsoWrite: (written) => webhooks.deliveriesOf(written),
    onWritten: () => webhooks.onWritten(),
  });
  const begun = webhooks
    .begin()
    .catch((error: unknown) => deps.log.warn({ reason: messageOf(error) }, "cannot resume webhooks"));
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
