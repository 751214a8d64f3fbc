import type { ServerResponse } from "node:http";

/** Writes server-sent events; every write after the client left is dropped. */
export interface EventWriter {
  send(event: string, data: unknown): void;
  /** Waits, but not longer than the client stays. */
  pause(delayMs: number): Promise<void>;
  readonly gone: boolean;
  end(): void;
}

/** Starts an event stream on `response`. */
export function openEventStream(response: ServerResponse): EventWriter {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return {
    send(event, data) {
      if (!response.destroyed) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    pause: (delayMs) => pauseFor(response, delayMs),
    get gone() {
      return response.destroyed;
    },
    end: () => void response.end(),
  };
}

/** Waits, but not longer than the client stays. */
export function pauseFor(response: ServerResponse, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      response.off("close", done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    response.once("close", done);
  });
}

const slowPieceMs = 50;

/** Cuts `text` into pieces and calls `emit` for each, spread over `overMs`. */
export async function streamText(
  stream: Pick<EventWriter, "pause" | "gone">,
  text: string,
  options: {
    readonly overMs: number;
    readonly emit: (piece: string) => void;
  },
): Promise<void> {
  const characters = Array.from(text);
  const pieces = Math.max(
    1,
    Math.min(characters.length, options.overMs > 0 ? Math.ceil(options.overMs / slowPieceMs) : 4),
  );
  const size = Math.ceil(characters.length / pieces);
  for (let start = 0; start < characters.length && !stream.gone; start += size) {
    options.emit(characters.slice(start, start + size).join(""));
    if (options.overMs > 0) await stream.pause(options.overMs / pieces);
  }
}
