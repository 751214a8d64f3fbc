import type { CastLine } from "./asciicast.ts";
import type { TerminalFeed } from "./terminal-feed.ts";

/** How a playback stands. The moment is in milliseconds since the recording's beginning. */
export interface PlaybackState {
  readonly kind: "loading" | "paused" | "playing" | "ended" | "failed";
  readonly atMs: number;
  readonly error: string | null;
}

export interface CastPlayerOptions {
  /** The recording's lines from a moment on, which the screen of that moment precedes. */
  readonly open: (fromMs: number, signal: AbortSignal) => Promise<AsyncIterable<CastLine>>;
  readonly feed: Pick<TerminalFeed, "write" | "repaint" | "resize" | "whenDrained">;
  readonly onState: (state: PlaybackState) => void;
  /** Where the recording ends, as far as it is known; who plays it from there plays it from its beginning. */
  readonly endMs?: number;
  /** Pauses of the program that are longer are shortened to it, in milliseconds of real time. */
  readonly longestPauseMs?: number;
}

export interface CastPlayer {
  play(): void;
  pause(): void;
  /** Shows a moment; a playback that runs continues there. */
  seek(ms: number): void;
  playFrom(ms: number): void;
  setSpeed(speed: number): void;
  close(): void;
}

const defaultLongestPauseMs = 1_500;
/** The moment is reported this often while it runs. */
const reportMs = 100;
/** A gateway that cut the recording off is asked for the rest so often in a row, without anything new between. */
const maxReopenings = 3;

const encoder = new TextEncoder();

export function createCastPlayer(options: CastPlayerOptions): CastPlayer {
  const { feed, onState, longestPauseMs = defaultLongestPauseMs, endMs = Number.POSITIVE_INFINITY } = options;
  let state: PlaybackState = { kind: "paused", atMs: 0, error: null };
  let speed = 1;
  /** Aborted when another moment is wanted, or none. */
  let run = new AbortController();

  function become(next: Partial<PlaybackState>): void {
    state = { ...state, ...next };
    onState(state);
  }

  /** Starts again at a moment; the run before, if any, ends. */
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

  /** Waits until a moment is reached, long pauses shortened. @returns the moment */
  async function until(
    lineMs: number,
    { atMs, signal }: { readonly atMs: number; readonly signal: AbortSignal },
  ): Promise<number> {
    let now = atMs;
    let left = Math.min((lineMs - atMs) / speed, longestPauseMs);
    while (left > 1 && !signal.aborted) {
      const stepMs = Math.min(left, reportMs);
      await sleep(stepMs, signal);
      // In a shortened pause the moment runs faster.
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
