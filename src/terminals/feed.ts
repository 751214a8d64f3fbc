import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { MinorGc } from "../platform/minor-gc.ts";
import type { TerminalSize, TerminalStream } from "../terminal-host/terminal-info.ts";
import { type FrameWriter, OutputChunk } from "./output-chunk.ts";
import { holdBytes, holdMs, type OutputSubscriber, type SharedOutput, type StreamEnd } from "./shared-output.ts";
import type { ViewerLink } from "./viewers.ts";

interface FeedDeps {
  readonly clock: Clock;
  readonly memory: MinorGc;
  readonly link: ViewerLink;
  readonly writer: FrameWriter;
  readonly shared: SharedOutput;
  /** Opens a separate stream; with `from`, it continues at that offset. */
  readonly attach: (from: number | undefined) => Promise<TerminalStream>;
  /** Called once, before any output is sent. */
  readonly onBegin: (stream: TerminalStream) => void;
  readonly onEnd: (end: StreamEnd) => void;
}

/**
 * Feeds one viewer with a terminal's output: first through a separate stream, until it has caught up with the shared one. A viewer that
 * is too slow is skipped: it receives nothing until its link has drained, and then continues with the current screen.
 */
export class Feed implements OutputSubscriber {
  readonly #deps: FeedDeps;
  #state: "catching_up" | "joined" | "skipped" | "over" = "catching_up";
  #offset = 0;
  #size: TerminalSize | null = null;
  #own: TerminalStream | null = null;
  #onDrained = (): void => undefined;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  get offset(): number {
    return this.#offset;
  }

  /** @param from the viewer's current offset */
  start(from: number | undefined): void {
    void this.#catchUp(from).catch((error: unknown) => this.onEnded({ kind: "broken", error }));
  }

  unsentBytes(): number {
    return this.#deps.link.unsentBytes();
  }

  take(chunk: OutputChunk): void {
    this.#offset = chunk.end;
    this.#deps.writer.output(chunk);
  }

  resized(size: TerminalSize): void {
    if (size.cols === this.#size?.cols && size.rows === this.#size.rows) return;
    this.#size = size;
    this.#deps.writer.size(size);
  }

  onSkipped(): void {
    if (this.#state === "over") return;
    this.#state = "skipped";
    if (this.unsentBytes() === 0) this.drained();
  }

  onEnded(end: StreamEnd): void {
    if (this.#state === "over") return;
    if (end.kind === "broken" && hasCode(end.error, "reader_behind")) {
      this.onSkipped();
      return;
    }
    this.close();
    this.#deps.onEnd(end);
  }

  drained(): void {
    this.#onDrained();
    if (this.#state === "joined") this.#deps.shared.progressed();
    if (this.#state !== "skipped") return;
    this.#state = "catching_up";
    this.start(undefined);
  }

  close(): void {
    this.#state = "over";
    this.#onDrained();
    this.#own?.close();
    this.#own = null;
    this.#deps.shared.leave(this);
  }

  async #catchUp(from: number | undefined): Promise<void> {
    const { shared, memory } = this.#deps;
    const stream = await this.#deps.attach(from);
    if (this.#isOver()) return stream.close();
    this.#begin(stream);
    if (shared.adopt(stream, this, stream.size)) {
      this.#state = "joined";
      return;
    }
    if (shared.join(this, stream.size)) {
      this.#state = "joined";
      return stream.close();
    }
    this.#own = stream;
    for await (const item of stream.output) {
      if (item instanceof Uint8Array) {
        this.take(new OutputChunk(item, this.#offset));
        memory.passed(item.byteLength);
      } else {
        this.resized(item);
      }
      if (this.#isOver()) return;
      if (shared.join(this, this.#size ?? stream.size)) {
        this.#state = "joined";
        this.#closeOwn();
        return;
      }
      if (this.unsentBytes() > holdBytes && !(await this.#untilDrained())) {
        this.#closeOwn();
        this.onSkipped();
        return;
      }
    }
    if (this.#isOver()) return;
    this.#own = null;
    this.onEnded({ kind: "exit", exit: await stream.exit });
  }

  #begin(stream: TerminalStream): void {
    const { writer, onBegin } = this.#deps;
    this.#offset = stream.offset;
    if (this.#size === null) {
      this.#size = stream.size;
      onBegin(stream);
    } else {
      this.resized(stream.size);
    }
    if (stream.snapshot !== null) writer.screen(stream.snapshot);
  }

  #closeOwn(): void {
    this.#own?.close();
    this.#own = null;
  }

  /** Whether the link drained within a second. */
  #untilDrained(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#deps.clock.after(holdMs, () => resolve(false));
    this.#onDrained = () => resolve(true);
    return promise.finally(() => {
      cancel();
      this.#onDrained = () => undefined;
    });
  }

  #isOver(): boolean {
    return this.#state === "over";
  }
}
