import { type SessionEvent, sessionEventSchema } from "../../src/wire/events.ts";
import { ApiError } from "./api-error.ts";
import { fetchApi } from "./client.ts";
import { createEventStreamParser, type StreamedMessage } from "./event-stream.ts";

/** Whether events arrive. `offline`: they do not, and the page reconnects. */
export type EventsState = "connecting" | "live" | "offline";

export interface EventsListener {
  readonly onEvent: (event: SessionEvent) => void;
  /** Earlier events are lost: everything has to be read again. */
  readonly onReset: () => void;
  readonly onState: (state: EventsState) => void;
}

const firstRetryMs = 500;
const maxRetryMs = 15_000;
/** The gateway sends something at least every 15 s; after three times as long the connection is dead, even if it was not closed. */
const silenceMs = 45_000;

/**
 * Follows `GET /api/coding/events` until `signal` is aborted; reconnects automatically, after the last event that it received.
 * @param options `after` is the event to continue after; without it, from now on
 */
export async function followEvents(
  listener: EventsListener,
  signal: AbortSignal,
  options: { readonly after?: string | null } = {},
): Promise<void> {
  let lastEventId = options.after ?? null;
  let retryMs = firstRetryMs;
  listener.onState("connecting");
  while (!signal.aborted) {
    const silence = new AbortController();
    try {
      await readOnce({
        lastEventId,
        signal: AbortSignal.any([signal, silence.signal]),
        onOpen: () => {
          retryMs = firstRetryMs;
          listener.onState("live");
        },
        onText: watchFor(silence),
        onMessage: (message) => {
          lastEventId = message.id ?? lastEventId;
          take(message, listener);
        },
      });
    } catch (error) {
      // Not signed in, or not allowed: another try would not help. All else is the network, or a gateway that restarts.
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return;
    } finally {
      silence.abort();
    }
    if (signal.aborted) return;
    listener.onState("offline");
    await waitToRetry(retryMs * (0.75 + Math.random() / 2), signal);
    retryMs = Math.min(retryMs * 2, maxRetryMs);
  }
}

async function readOnce(reading: {
  readonly lastEventId: string | null;
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onText: () => void;
  readonly onMessage: (message: StreamedMessage) => void;
}): Promise<void> {
  const { lastEventId, signal } = reading;
  const response = await fetchApi("/api/coding/events", {
    signal,
    headers: { accept: "text/event-stream", ...(lastEventId === null ? {} : { "last-event-id": lastEventId }) },
  });
  if (response.body === null) return;
  reading.onOpen();
  reading.onText();
  const parse = createEventStreamParser(reading.onMessage);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    reading.onText();
    parse(value);
  }
}

/** Aborts when nothing was heard for too long: a laptop that slept does not learn otherwise that its connection is gone. */
function watchFor(silence: AbortController): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  silence.signal.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    clearTimeout(timer);
    if (!silence.signal.aborted) timer = setTimeout(() => silence.abort(), silenceMs);
  };
}

function take({ event, data }: StreamedMessage, listener: EventsListener): void {
  if (data === "") return;
  if (event === "reset") {
    listener.onReset();
    return;
  }
  const parsed = sessionEventSchema.safeParse(parseJson(data));
  // A gateway that is newer than this page may send other kinds.
  if (parsed.success) listener.onEvent(parsed.data);
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined; // no event then
  }
}

/** Waits; but a network that came back, or a page that is looked at again, ends the wait. */
function waitToRetry(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      document.removeEventListener("visibilitychange", onVisible);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const onVisible = (): void => {
      if (document.visibilityState === "visible") end();
    };
    const timer = setTimeout(end, delayMs);
    window.addEventListener("online", end);
    document.addEventListener("visibilitychange", onVisible);
    signal.addEventListener("abort", end);
  });
}
