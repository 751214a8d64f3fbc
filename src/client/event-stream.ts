import { PosternClientError } from "./client-error.ts";
import type { SessionEvent } from "./operations.ts";

/** Events were lost, because the one to continue from is not stored any more: read everything again. */
export interface StreamReset {
  readonly kind: "reset";
  readonly id: string;
  readonly at: string;
  readonly reason: string;
}

/** `offline`: events do not arrive, and the client reconnects. */
export type EventsState = "connecting" | "live" | "offline";

export interface EventsOptions {
  /** Only this session and the ones that continue it. */
  readonly sessionId?: string | undefined;
  /** The `id` of the last event that was received. Without it, only new events come. */
  readonly after?: string | null | undefined;
  readonly signal?: AbortSignal;
  /** Called with each change and its reason. If it throws, the loop ends. */
  readonly onState?: (state: EventsState, reason?: unknown) => void;
  /** Waits before the next attempt. The default waits for `delayMs`; a page can end early, when its network returns. */
  readonly pause?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

const firstRetryMs = 500;
const maxRetryMs = 15_000;
/** The gateway sends something at least every 15 s. After three times that, the connection counts as dead even if it was not closed. */
const silenceMs = 45_000;

/** Opens the stream. @throws PosternClientError when the gateway refuses */
export type OpenStream = (call: {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}) => Promise<Response>;

export async function* followEvents(
  open: OpenStream,
  options: EventsOptions,
): AsyncGenerator<SessionEvent | StreamReset, void, undefined> {
  const { signal = new AbortController().signal, pause = waitFor, onState } = options;
  let lastEventId = options.after ?? null;
  let retryMs = firstRetryMs;
  onState?.("connecting");
  while (!signal.aborted) {
    const silence = new AbortController();
    let reason: unknown;
    try {
      const headers = {
        accept: "text/event-stream",
        ...(lastEventId === null ? {} : { "last-event-id": lastEventId }),
      };
      const response = await open({ headers, signal: AbortSignal.any([signal, silence.signal]) });
      retryMs = firstRetryMs;
      onState?.("live");
      const parse = createEventStreamParser();
      for await (const text of textOf(response, { silenceMs, onSilence: () => silence.abort() })) {
        for (const message of parse(text)) {
          lastEventId = message.id ?? lastEventId;
          const event = eventOf(message);
          if (event !== null) yield event;
        }
      }
    } catch (error) {
      if (!signal.aborted && isRefusal(error)) throw error;
      reason = error;
    } finally {
      silence.abort(); // even if the caller leaves the loop
    }
    if (signal.aborted) return;
    onState?.("offline", reason);
    const retryAfterMs = reason instanceof PosternClientError ? (reason.retryAfterMs ?? 0) : 0;
    await pause(Math.max(retryMs * (0.75 + Math.random() / 2), retryAfterMs), signal);
    retryMs = Math.min(retryMs * 2, maxRetryMs);
  }
}

/** Whether trying again is useless. Anything else is the network, a proxy, a restart or a limit. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof PosternClientError)) return false;
  const { code, status } = error;
  return (
    status === 401 ||
    status === 403 ||
    (status >= 400 && status < 500 && status !== 429 && code !== "unreadable_answer")
  );
}

function waitFor(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal.addEventListener("abort", end);
  });
}

/** The text of an answer as it arrives. `onSilence` is called when the next piece takes longer than `silenceMs`. */
export async function* textOf(
  response: Response,
  watch: { readonly silenceMs: number; readonly onSilence: () => void } | null = null,
): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      // After sleep, a laptop is not notified that its connection is gone.
      const timer = watch === null ? undefined : setTimeout(watch.onSilence, watch.silenceMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      const text = decoder.decode(value, { stream: !done });
      if (text !== "") yield text;
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => undefined); // It may have failed already.
  }
}

function eventOf({ data }: StreamedMessage): SessionEvent | StreamReset | null {
  if (data === "") return null;
  try {
    const value: unknown = JSON.parse(data);
    return isEvent(value) ? value : null;
  } catch {
    return null; // not from our gateway
  }
}

/** The other fields are trusted. */
function isEvent(value: unknown): value is SessionEvent | StreamReset {
  return typeof value === "object" && value !== null && "kind" in value && "id" in value;
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
 * Reads server-sent events as they come. `EventSource` cannot send headers, which tokens need.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6
 */
export function createEventStreamParser(): (text: string) => readonly StreamedMessage[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | null = null;

  /** A message, when the line ends one. */
  function takeLine(line: string): readonly StreamedMessage[] {
    if (line === "") {
      // An id without data is only a position: report it with empty data so that it is stored.
      const message = { event: event === "" ? "message" : event, data: data.join("\n"), id };
      const isMessage = data.length > 0 || id !== null;
      event = "";
      data = [];
      id = null;
      return isMessage ? [message] : [];
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    return [];
  }

  return (text) => {
    rest += text;
    const messages: StreamedMessage[] = [];
    for (;;) {
      const end = rest.search(/[\r\n]/);
      // A CR at the very end may be half of a CRLF.
      if (end === -1 || (rest[end] === "\r" && end === rest.length - 1)) break;
      const line = rest.slice(0, end);
      rest = rest.slice(end + (rest.startsWith("\r\n", end) ? 2 : 1));
      messages.push(...takeLine(line));
    }
    if (rest.length > maxLineLength) throw new Error("A line of the event stream is too long.");
    return messages;
  };
}
