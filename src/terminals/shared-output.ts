import type { Clock } from "../core/clock.ts";
import type { MinorGc } from "../platform/minor-gc.ts";
import type { TerminalExit, TerminalSize, TerminalStream } from "../terminal-host/terminal-info.ts";
import { OutputChunk } from "./output-chunk.ts";

/** A viewer of the shared output. */
export interface OutputSubscriber {
  /** Bytes of output that it received. */
  readonly offset: number;
  unsentBytes(): number;
  take(chunk: OutputChunk): void;
  resized(size: TerminalSize): void;
  /** Called when the subscriber was removed because it was too slow. */
  onSkipped(): void;
  /** The stream ended, because the program exited or the stream broke. */
  onEnded(end: StreamEnd): void;
}

/** How a stream of output ended. */
export type StreamEnd =
  | { readonly kind: "exit"; readonly exit: TerminalExit }
  | { readonly kind: "broken"; readonly error: unknown };

/** If even the fastest subscriber has more than this unsent, the stream is paused, and so is the program. */
export const holdBytes = 256 * 1024;
/** The stream is paused for at most this long at a time; then that subscriber is skipped too. */
export const holdMs = 1_000;
/** With more than this unsent, a subscriber is skipped. */
const skipBytes = 1024 * 1024;

/** One stream of a terminal's output for all viewers that have caught up with it, open while it has subscribers. */
export class SharedOutput {
  readonly #clock: Clock;
  readonly #memory: MinorGc;
  readonly #subscribers = new Set<OutputSubscriber>();
  #stream: TerminalStream | null = null;
  #offset = 0;
  #size: TerminalSize = { cols: 0, rows: 0 };
  #onProgress = (): void => undefined;

  constructor({ clock, memory }: { readonly clock: Clock; readonly memory: MinorGc }) {
    this.#clock = clock;
    this.#memory = memory;
  }

  /** Adds `subscriber` if it has received everything that was sent so far and so needs no separate stream. */
  join(subscriber: OutputSubscriber, size: TerminalSize): boolean {
    if (this.#stream === null || subscriber.offset < this.#offset) return false;
    this.#subscribers.add(subscriber);
    const { cols, rows } = this.#size;
    this.#onProgress();
    if (subscriber.offset === this.#offset && (size.cols !== cols || size.rows !== rows))
      subscriber.resized(this.#size);
    return true;
  }

  /** Makes the stream of `subscriber` the shared one when there is none. */
  adopt(stream: TerminalStream, subscriber: OutputSubscriber, size: TerminalSize): boolean {
    if (this.#stream !== null) return false;
    this.#stream = stream;
    this.#offset = subscriber.offset;
    this.#size = size;
    this.#subscribers.add(subscriber);
    void this.#run(stream);
    return true;
  }

  leave(subscriber: OutputSubscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    this.#onProgress();
    if (this.#subscribers.size === 0) this.#close();
  }

  /** A subscriber's link drained. */
  progressed(): void {
    this.#onProgress();
  }

  #close(): void {
    this.#stream?.close();
    this.#stream = null;
  }

  async #run(stream: TerminalStream): Promise<void> {
    let end: StreamEnd;
    try {
      for await (const item of stream.output) {
        if (this.#stream !== stream) return;
        if (item instanceof Uint8Array) this.#pass(new OutputChunk(item, this.#offset));
        else this.#resize(item);
        if (this.#fastest() > holdBytes) await this.#hold();
        if (this.#stream !== stream) return;
      }
      end = { kind: "exit", exit: await stream.exit };
    } catch (error) {
      end = { kind: "broken", error };
    }
    if (this.#stream !== stream) return; // the stream was closed when the last subscriber left
    this.#stream = null;
    const subscribers = [...this.#subscribers];
    this.#subscribers.clear();
    for (const subscriber of subscribers) subscriber.onEnded(end);
  }

  #pass(chunk: OutputChunk): void {
    this.#offset = chunk.end;
    this.#memory.passed(chunk.data.byteLength);
    for (const subscriber of this.#subscribers) {
      if (subscriber.offset >= chunk.end) continue;
      subscriber.take(chunk.after(subscriber.offset));
      if (subscriber.unsentBytes() > skipBytes) this.#skip(subscriber);
    }
  }

  #resize(size: TerminalSize): void {
    this.#size = size;
    for (const subscriber of this.#subscribers) if (subscriber.offset <= this.#offset) subscriber.resized(size);
  }

  #fastest(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const subscriber of this.#subscribers) least = Math.min(least, subscriber.unsentBytes());
    return this.#subscribers.size === 0 ? 0 : least;
  }

  /** Waits until a subscriber is fast again, for a second at most. */
  async #hold(): Promise<void> {
    const over = Promise.withResolvers<"late" | "fast">();
    const cancel = this.#clock.after(holdMs, () => over.resolve("late"));
    this.#onProgress = () => {
      if (this.#fastest() <= holdBytes / 2) over.resolve("fast");
    };
    const how = await over.promise;
    cancel();
    this.#onProgress = () => undefined;
    if (how === "fast") return;
    for (const subscriber of this.#subscribers) this.#skip(subscriber);
  }

  #skip(subscriber: OutputSubscriber): void {
    this.leave(subscriber);
    subscriber.onSkipped();
  }
}
