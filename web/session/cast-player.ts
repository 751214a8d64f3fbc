import { z } from "zod";
import type { TerminalFeed, TerminalSize } from "./terminal-feed.ts";

/** The header line. @see https://docs.asciinema.org/manual/asciicast/v2/ */
const headerSchema = z.looseObject({
  version: z.literal(2),
  width: z.int().min(1).max(1_000),
  height: z.int().min(1).max(500),
  timestamp: z.number().optional(),
});

const eventSchema = z.tuple([z.number(), z.string(), z.string()]);
const sizePattern = /^(\d{1,4})x(\d{1,4})$/;

/** The header, then output and resizes, in seconds since the header's time. */
export type CastLine =
  | { readonly kind: "head"; readonly size: TerminalSize; readonly startedAt: number | null }
  | { readonly kind: "output"; readonly atS: number; readonly data: string }
  | { readonly kind: "size"; readonly atS: number; readonly size: TerminalSize };

/** Null for an empty, damaged or unsupported line. */
export function parseCastLine(line: string): CastLine | null {
  const value = parseJson(line);
  const head = headerSchema.safeParse(value);
  if (head.success) {
    const { width, height, timestamp } = head.data;
    return { kind: "head", size: { cols: width, rows: height }, startedAt: timestamp ?? null };
  }
  const event = eventSchema.safeParse(value);
  if (!event.success) return null;
  const [atS, kind, data] = event.data;
  if (kind === "o") return { kind: "output", atS, data };
  const size = kind === "r" ? sizePattern.exec(data) : null;
  return size === null ? null : { kind: "size", atS, size: { cols: Number(size[1]), rows: Number(size[2]) } };
}

/** A longer line is damaged. */
const maxLineLength = 16 * 1024 * 1024;

export async function* readCast(body: ReadableStream<Uint8Array>): AsyncGenerator<CastLine, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      if (rest.length > maxLineLength) throw new Error("The recording contains a line that is too long.");
      for (const line of lines) {
        const parsed = parseCastLine(line);
        if (parsed !== null) yield parsed;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it is ending anyway
  }
}

function parseJson(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return value;
  } catch {
    return null; // an incomplete line
  }
}

export interface PlaybackState {
  readonly kind: "loading" | "paused" | "playing" | "ended" | "failed";
  readonly atMs: number;
  readonly error: string | null;
}

export interface CastPlayerOptions {
  /** The recording from a moment on, preceded by the screen at that moment. */
  readonly open: (fromMs: number, signal: AbortSignal) => Promise<AsyncIterable<CastLine>>;
  readonly feed: Pick<TerminalFeed, "write" | "repaint" | "resize" | "whenDrained">;
  readonly onState: (state: PlaybackState) => void;
  /** Where the recording ends, if known. Playing from there starts over. */
  readonly endMs?: number;
  /** Longer pauses are shortened to this, in milliseconds of real time. */
  readonly longestPauseMs?: number;
}

export interface CastPlayer {
  play(): void;
  pause(): void;
  seek(ms: number): void;
  playFrom(ms: number): void;
  setSpeed(speed: number): void;
  close(): void;
}

const defaultLongestPauseMs = 1_500;
/** How often the position is reported. */
const reportMs = 100;
/** Reconnects without progress before playback fails. */
const maxReopenings = 3;

const encoder = new TextEncoder();

export function createCastPlayer(options: CastPlayerOptions): CastPlayer {
  const { feed, onState, longestPauseMs = defaultLongestPauseMs, endMs = Number.POSITIVE_INFINITY } = options;
  let state: PlaybackState = { kind: "paused", atMs: 0, error: null };
  let speed = 1;
  /** Aborted by a seek, a pause or close. */
  let run = new AbortController();

  function become(next: Partial<PlaybackState>): void {
    state = { ...state, ...next };
    onState(state);
  }

  function start(atMs: number, { once }: { readonly once: boolean }): void {
    run.abort();
    run = new AbortController();
    const { signal } = run;
    become({ kind: "loading", atMs, error: null });
    void follow(atMs, { signal, once });
  }

  async function follow(
    fromMs: number,
    { signal, once }: { readonly signal: AbortSignal; readonly once: boolean },
  ): Promise<void> {
    let atMs = fromMs;
    for (let failures = 0; !signal.aborted; ) {
      const before = atMs;
      try {
        for await (const line of await options.open(atMs, signal)) {
          if (signal.aborted) return;
          if (line.kind === "head") {
            feed.resize(line.size);
            feed.repaint(new Uint8Array(0));
            if (!once) become({ kind: "playing" });
            continue;
          }
          const lineMs = line.atS * 1_000;
          if (once && lineMs > fromMs) break;
          atMs = await until(lineMs, { atMs, signal });
          if (signal.aborted) return;
          await show(line, signal);
        }
        if (!signal.aborted) become(once ? { kind: "paused", atMs: fromMs } : { kind: "ended", atMs });
        return;
      } catch (error) {
        if (signal.aborted) return;
        failures = atMs > before ? 0 : failures + 1;
        if (failures < maxReopenings) continue;
        become({ kind: "failed", error: error instanceof Error ? error.message : String(error) });
      }
      return;
    }
  }

  /** Waits until a moment, shortening long pauses. @returns the moment */
  async function until(
    lineMs: number,
    { atMs, signal }: { readonly atMs: number; readonly signal: AbortSignal },
  ): Promise<number> {
    let now = atMs;
    let left = Math.min((lineMs - atMs) / speed, longestPauseMs);
    while (left > 1 && !signal.aborted) {
      const stepMs = Math.min(left, reportMs);
      await sleep(stepMs, signal);
      // The position moves faster through a shortened pause.
      now += ((lineMs - now) * stepMs) / left;
      left -= stepMs;
      become({ atMs: now });
    }
    return Math.max(atMs, lineMs);
  }

  async function show(line: Exclude<CastLine, { kind: "head" }>, signal: AbortSignal): Promise<void> {
    if (line.kind === "size") {
      feed.resize(line.size);
      return;
    }
    const data = encoder.encode(line.data);
    while (!signal.aborted && !feed.write(data)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      feed.whenDrained(resolve);
      await promise;
    }
  }

  return {
    play() {
      if (state.kind === "playing" || state.kind === "loading") return;
      start(state.kind === "ended" || state.atMs >= endMs ? 0 : state.atMs, { once: false });
    },
    pause() {
      if (state.kind !== "playing" && state.kind !== "loading") return;
      run.abort();
      become({ kind: "paused" });
    },
    seek(ms) {
      start(Math.max(0, ms), { once: state.kind !== "playing" });
    },
    playFrom(ms) {
      start(Math.max(0, ms), { once: false });
    },
    setSpeed(next) {
      speed = next;
    },
    close() {
      run.abort();
    },
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
