import { onTestFinished } from "vitest";
import { type SessionEvent, type StreamReset, sessionEventSchema, streamResetSchema } from "../../src/wire/events.ts";

/** A client of the event stream, as far as it has read. */
export interface EventReader {
  readonly events: readonly SessionEvent[];
  readonly resets: readonly StreamReset[];
  /** The last `id` of the stream, events or not: where a reconnecting client continues. */
  readonly lastId: string | null;
  /** Resolves when the stream has ended, however it did. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Reads `GET /api/coding/events` in the background until it ends or the test does. */
export async function readEvents(
  url: string,
  options: {
    readonly token: string | null;
    readonly lastEventId?: string | null;
    /** `header` by default. */
    readonly lastEventIdIn?: "header" | "query";
    readonly sessionId?: string;
  },
): Promise<EventReader> {
  const { token, lastEventId = null, lastEventIdIn = "header", sessionId } = options;
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const query = new URLSearchParams({
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(lastEventId === null || lastEventIdIn === "header" ? {} : { lastEventId }),
  });
  const response = await fetch(`${url}/api/coding/events?${query.toString()}`, {
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(lastEventId === null || lastEventIdIn === "query" ? {} : { "last-event-id": lastEventId }),
    },
    signal: ending.signal,
  });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`The event stream answered ${response.status}: ${await response.text()}`);
  }
  const events: SessionEvent[] = [];
  const resets: StreamReset[] = [];
  let lastId: string | null = null;

  function take(block: string): void {
    const fields = new Map(block.split("\n").map((line) => [line.split(":", 1)[0], line.replace(/^[^:]*: ?/, "")]));
    lastId = fields.get("id") ?? lastId;
    const data = fields.get("data");
    if (data === undefined) return;
    if (fields.get("event") === "reset") resets.push(streamResetSchema.parse(JSON.parse(data)));
    else events.push(sessionEventSchema.parse(JSON.parse(data)));
  }

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body) {
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) take(block);
      }
    } catch {
      // The test or a killed gateway cut the stream off. The events received so far count.
    }
  }

  const ended = read(response.body);
  return {
    events,
    resets,
    get lastId() {
      return lastId;
    },
    ended,
    close: () => ending.abort(),
  };
}
