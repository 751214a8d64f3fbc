import { type SessionEvent, sessionEventSchema } from "../../src/wire/events.ts";
import { ApiError } from "./api-error.ts";
import { fetchApi } from "./client.ts";

/** `offline`: events do not arrive, and the page reconnects. */
export type EventsState = "connecting" | "live" | "offline";

export interface EventsListener {
  readonly onEvent: (event: SessionEvent) => void;
  /** Events were lost: read everything again. */
  readonly onReset: () => void;
  readonly onState: (state: EventsState) => void;
}

const firstRetryMs = 500;
const maxRetryMs = 15_000;
/** The gateway sends something at least every 15 s. After three times that, the connection is dead even if it was not closed. */
const silenceMs = 45_000;

/** Follows `GET /api/coding/events` until `signal` aborts, and reconnects after the last event. `after` is the event to continue from. */
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
      // Not signed in or not allowed: retrying would not help. Anything else is the network or a restart.
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

/** Aborts after a long silence: a laptop that slept is not notified that its connection is gone. */
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
  // A newer gateway may send other kinds.
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

/** Waits, but no longer than until the network returns or the page becomes visible. */
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

export interface StreamedMessage {
  readonly event: string;
  readonly data: string;
  /** The next `Last-Event-ID`. */
  readonly id: string | null;
}

/** A longer line is not from our gateway. */
const maxLineLength = 1_000_000;

/**
 * Reads server-sent events as they come. `EventSource` cannot send a header, and the key is one.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6
 */
export function createEventStreamParser(onMessage: (message: StreamedMessage) => void): (text: string) => void {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | null = null;

  function takeLine(line: string): void {
    if (line === "") {
      // An id without data is only a position: report it with empty data so that it is stored.
      if (data.length > 0 || id !== null)
        onMessage({ event: event === "" ? "message" : event, data: data.join("\n"), id });
      event = "";
      data = [];
      id = null;
      return;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
  }

  return (text) => {
    rest += text;
    for (;;) {
      const end = rest.search(/[\r\n]/);
      // A CR at the very end may be half of a CRLF.
      if (end === -1 || (rest[end] === "\r" && end === rest.length - 1)) break;
      const line = rest.slice(0, end);
      rest = rest.slice(end + (rest.startsWith("\r\n", end) ? 2 : 1));
      takeLine(line);
    }
    if (rest.length > maxLineLength) throw new Error("A line of the event stream is too long.");
  };
}
