import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { MinorGc } from "../platform/minor-gc.ts";
import type {
  TerminalExit,
  TerminalHostClient,
  TerminalSize,
  TerminalSnapshot,
} from "../terminal-host/terminal-info.ts";
import { type TerminalMode, terminalCloseCodes } from "../wire/terminal.ts";
import { AnswerFilter } from "./answer-filter.ts";
import { readClientFrame } from "./client-frame.ts";
import { Feed } from "./feed.ts";
import { createFrameWriter, type FrameWriter } from "./output-chunk.ts";
import { SharedOutput, type StreamEnd } from "./shared-output.ts";
import {
  nextViewerStates,
  sizeOwner,
  type Viewer,
  type ViewerEvent,
  type ViewerLink,
  type ViewerStates,
  type ViewRequest,
} from "./viewers.ts";

interface AttachmentDeps {
  readonly host: TerminalHostClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly memory: MinorGc;
}

/** The pieces of a terminal's answer come within this time. Bytes that are still incomplete after it were typed. */
const answerGapMs = 50;

/** The amount of input that the host buffers for a program that does not read. */
const maxTypingBytes = 4 * 1024 * 1024;

interface AttachedViewer {
  readonly id: number;
  readonly mode: TerminalMode;
  readonly link: ViewerLink;
  readonly writer: FrameWriter;
  readonly feed: Feed;
  readonly filter: AnswerFilter;
  /** Input that the program has not read yet. */
  typingBytes: number;
  cancelFlush: () => void;
  begun: boolean;
  /** The last `viewers` frame that this viewer received. */
  seen: string;
}

/** One terminal and its viewers. */
export class Attachment {
  readonly terminalId: string;
  readonly #deps: AttachmentDeps;
  readonly #onEmpty: () => void;
  readonly #shared: SharedOutput;
  readonly #viewers = new Map<number, AttachedViewer>();
  #viewerStates: ViewerStates = [];
  #applied: TerminalSize | null = null;
  #nextId = 1;
  /** The viewer that typed last, if nothing else has happened since. Its next key then does not change any `viewers` frame. */
  #typing: number | null = null;
  #exit: TerminalExit | null = null;
  /** The last screen, for viewers that had not seen the program's end. */
  #leftScreen: Promise<TerminalSnapshot | null> | null = null;
  readonly #stopListening: () => void;

  constructor(deps: AttachmentDeps, terminalId: string, onEmpty: () => void) {
    this.#deps = deps;
    this.terminalId = terminalId;
    this.#onEmpty = onEmpty;
    this.#shared = new SharedOutput(deps);
    // If a viewer is skipped when the program ends, it has no stream, and the host may already have dropped the terminal.
    this.#stopListening = deps.host.onExit((ended) => {
      if (ended?.terminalId === terminalId) this.#exit ??= ended.exit;
    });
  }

  get size(): number {
    return this.#viewers.size;
  }

  join(request: ViewRequest, link: ViewerLink, mode: TerminalMode): Viewer {
    const id = this.#nextId;
    this.#nextId += 1;
    const { host, clock, memory } = this.#deps;
    const { terminalId } = this;
    const writer = createFrameWriter(link, request.protocol);
    const from = fromOf(request, terminalId);
    const feed = new Feed({
      clock,
      memory,
      link,
      writer,
      shared: this.#shared,
      attach: (at) => host.attach(terminalId, at === undefined ? {} : { from: at }),
      onBegin: ({ offset, size, snapshot }) => {
        viewer.begun = true;
        writer.hello({ terminalId, mode, size, offset, continued: snapshot === null });
        this.#sendViewers(viewer);
      },
      onEnd: (end) => this.#onFeedEnd(viewer, end),
    });
    const filter = new AnswerFilter();
    const viewer: AttachedViewer = {
      id,
      mode,
      link,
      writer,
      feed,
      filter,
      typingBytes: 0,
      cancelFlush: () => undefined,
      begun: false,
      seen: "",
    };
    this.#viewers.set(id, viewer);
    this.#update({ kind: "came", id, mode, size: request.size ?? null });
    feed.start(from);
    return {
      receive: (data, isBinary) => this.#receive(viewer, data, isBinary),
      drained: () => feed.drained(),
      leave: () => this.#leave(viewer),
    };
  }

  close(): void {
    for (const viewer of this.#viewers.values()) {
      viewer.link.close(terminalCloseCodes.restarting, "The gateway is restarting.");
      this.#leave(viewer);
    }
  }

  #receive(viewer: AttachedViewer, data: Buffer, isBinary: boolean): void {
    const { id, mode, filter } = viewer;
    if (mode === "observe" || this.#exit !== null || !this.#viewers.has(id)) return;
    const frame = readClientFrame(data, isBinary);
    if (frame.kind === "resize") {
      this.#update({ kind: "resized", id, size: frame.size });
      return;
    }
    viewer.cancelFlush();
    this.#type(viewer, filter.push(frame.data));
    if (filter.holds) {
      viewer.cancelFlush = this.#deps.clock.after(answerGapMs, () => this.#type(viewer, filter.flush()));
    }
  }

  #type(viewer: AttachedViewer, data: Buffer): void {
    if (data.byteLength === 0) return;
    if (this.#typing !== viewer.id) this.#update({ kind: "typed", id: viewer.id });
    this.#typing = viewer.id;
    if (viewer.typingBytes > 0 && viewer.typingBytes + data.byteLength > maxTypingBytes)
      return this.#inputLost("too much");
    viewer.typingBytes += data.byteLength;
    this.#deps.host
      .write(this.terminalId, data)
      .catch((error: unknown) => this.#inputLost(messageOf(error)))
      .finally(() => {
        viewer.typingBytes -= data.byteLength;
      });
  }

  /** If the program has ended, its exit is reported separately. A program that does not read loses input, as in any terminal. */
  #inputLost(reason: string): void {
    this.#deps.log.debug({ terminalId: this.terminalId, reason }, "input was lost");
  }

  #leave(viewer: AttachedViewer): void {
    if (!this.#viewers.delete(viewer.id)) return;
    viewer.feed.close();
    viewer.cancelFlush();
    this.#update({ kind: "left", id: viewer.id });
    if (this.#viewers.size > 0) return;
    this.#stopListening();
    this.#onEmpty();
  }

  #update(event: ViewerEvent): void {
    this.#typing = null;
    this.#viewerStates = nextViewerStates(this.#viewerStates, event);
    this.#applySize();
    for (const viewer of this.#viewers.values()) this.#sendViewers(viewer);
  }

  #applySize(): void {
    const size = sizeOwner(this.#viewerStates)?.size;
    if (size === undefined || (size.cols === this.#applied?.cols && size.rows === this.#applied.rows)) return;
    this.#applied = size;
    this.#deps.host.resize(this.terminalId, size).catch((error: unknown) => {
      this.#applied = null;
      this.#typing = null; // the next key retries
      this.#deps.log.debug({ terminalId: this.terminalId, reason: messageOf(error) }, "cannot resize a terminal");
    });
  }

  #sendViewers(viewer: AttachedViewer): void {
    if (!viewer.begun) return;
    const drivers = this.#viewerStates.filter(({ mode }) => mode === "drive").length;
    const seen = {
      drivers,
      observers: this.#viewerStates.length - drivers,
      sizer: sizeOwner(this.#viewerStates)?.id === viewer.id,
    };
    const text = JSON.stringify(seen);
    if (text === viewer.seen) return;
    viewer.seen = text;
    viewer.writer.viewers(seen);
  }

  #onFeedEnd(viewer: AttachedViewer, end: StreamEnd): void {
    if (end.kind === "exit") this.#exit ??= end.exit;
    const exit = this.#exit;
    if (exit === null) {
      viewer.link.close(terminalCloseCodes.restarting, "The terminal is unavailable at the moment. Reconnect.");
      this.#leave(viewer);
      return;
    }
    if (end.kind === "exit") {
      this.#sendExit(viewer, exit);
      return;
    }
    // The terminal was dropped before this viewer had seen its end.
    this.#leftScreen ??= this.#lastScreen();
    void this.#leftScreen.then((left) => {
      if (!this.#viewers.has(viewer.id)) return;
      if (left !== null) viewer.writer.screen(left);
      this.#sendExit(viewer, exit);
    });
  }

  #sendExit(viewer: AttachedViewer, exit: TerminalExit): void {
    viewer.writer.exit(exit);
    viewer.link.close(terminalCloseCodes.ended, "The program has ended.");
    this.#leave(viewer);
  }

  async #lastScreen(): Promise<TerminalSnapshot | null> {
    const { host } = this.#deps;
    try {
      return await host.snapshot(this.terminalId);
    } catch {
      // The host has dropped the terminal, but keeps its recording longer.
      const recording = await host.recording(this.terminalId).catch(() => null);
      return recording === null ? null : recording.screenAt(recording.endsAt).catch(() => null);
    }
  }
}

/** The offset at which a viewer continues, which is possible only in the same terminal and with frames that have offsets. */
function fromOf({ protocol, continueAt }: ViewRequest, terminalId: string): number | undefined {
  return protocol === "v1" && continueAt?.terminalId === terminalId ? continueAt.offset : undefined;
}
