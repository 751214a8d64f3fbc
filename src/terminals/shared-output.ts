import type { Clock } from "../core/clock.ts";
import type { MinorGc } from "../platform/minor-gc.ts";
import type { TerminalExit, TerminalSize, TerminalStream } from "../terminal-host/terminal-info.ts";
import { OutputChunk } from "./output-chunk.ts";

/** One who takes part in the shared output. */
export interface OutputSubscriber {
  /** Bytes of output that it has been given. */
  readonly offset: number;
  unsentBytes(): number;
  take(chunk: OutputChunk): void;
  resized(size: TerminalSize): void;
  /** It is no longer fed from here, because it was too slow. */
  onSkipped(): void;
  /** The stream ended: with the program, or too early. */
  onEnded(end: StreamEnd): void;
}

/** How a stream of output ended. */
export type StreamEnd =
  | { readonly kind: "exit"; readonly exit: TerminalExit }
  | { readonly kind: "broken"; readonly error: unknown };

/** While even the fastest taker has more than this unsent, the stream is not read on, and so the program waits. */
export const holdBytes = 256 * 1024;
/** At most so long at a time; then that taker is skipped too. */
export const holdMs = 1_000;
/** More than this unsent, and a taker is skipped however the others are. */
export const skipBytes = 1024 * 1024;

/** One stream of a terminal's output for all who are up to date with it. It is there while it has takers. */
export class SharedOutput {
  readonly #clock: Clock;
  readonly #memory: MinorGc;
  readonly #takers = new Set<OutputSubscriber>();
  #stream: TerminalStream | null = null;
  #offset = 0;
  #size: TerminalSize = { cols: 0, rows: 0 };
  #onProgress = (): void => undefined;

  constructor({ clock, memory }: { readonly clock: Clock; readonly memory: MinorGc }) {
    this.#clock = clock;
    this.#memory = memory;
  }

  /** Lets `taker` in when it has no less than what was sent on so far, and no stream of its own is needed any more. */
  join(taker: OutputSubscriber, size: TerminalSize): boolean {
    if (this.#stream === null || taker.offset < this.#offset) return false;
    this.#takers.add(taker);
    const { cols, rows } = this.#size;
    this.#onProgress();
    if (taker.offset === this.#offset && (size.cols !== cols || size.rows !== rows)) taker.resized(this.#size);
    return true;
  }

  /** Makes the stream of `taker` the shared one when there is none. */
  adopt(stream: TerminalStream, taker: OutputSubscriber, size: TerminalSize): boolean {
    if (this.#stream !== null) return false;
    this.#stream = stream;
    this.#offset = taker.offset;
    this.#size = size;
    this.#takers.add(taker);
    void this.#run(stream);
    return true;
  }

  leave(taker: OutputSubscriber): void {
    if (!this.#takers.delete(taker)) return;
    this.#onProgress();
    if (this.#takers.size === 0) this.#close();
  }

  /** A taker's link sent all that it had. */
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
    if (this.#stream !== stream) return; // everybody left, which closed it
    this.#stream = null;
    const takers = [...this.#takers];
    this.#takers.clear();
    for (const taker of takers) taker.onEnded(end);
  }

  #pass(chunk: OutputChunk): void {
    this.#offset = chunk.end;
    this.#memory.passed(chunk.data.byteLength);
    for (const taker of this.#takers) {
      if (taker.offset >= chunk.end) continue;
      taker.take(chunk.after(taker.offset));
      if (taker.unsentBytes() > skipBytes) this.#skip(taker);
    }
  }

  #resize(size: TerminalSize): void {
    this.#size = size;
    for (const taker of this.#takers) if (taker.offset <= this.#offset) taker.resized(size);
  }

  #fastest(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const taker of this.#takers) least = Math.min(least, taker.unsentBytes());
    return this.#takers.size === 0 ? 0 : least;
  }

  /** Waits until somebody is fast again; after a second nobody is waited for. */
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
    for (const taker of this.#takers) this.#skip(taker);
  }

  #skip(taker: OutputSubscriber): void {
    this.leave(taker);
    taker.onSkipped();
  }
}
