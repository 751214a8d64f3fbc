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
import { createFrameWriter, type FrameWriter } from "./frame-writer.ts";
import { SharedOutput, type StreamEnd } from "./shared-output.ts";
import type { Viewer, ViewerLink, ViewRequest } from "./viewers.ts";
import { nextViewerStates, sizeOwner, type ViewerEvent, type ViewerStates } from "./viewers.ts";

export interface AttachmentDeps {
  readonly host: TerminalHostClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly memory: MinorGc;
}

/** A terminal's answer that comes in pieces comes in one breath; what has not become one by then was typed. */
const answerGapMs = 50;

/** As much as the host keeps for a program that does not read. */
const maxTypingBytes = 4 * 1024 * 1024;

/** A viewer, as the attachment keeps it. */
interface AttachedViewer {
  readonly id: number;
  readonly mode: TerminalMode;
  readonly link: ViewerLink;
  readonly writer: FrameWriter;
  readonly feed: Feed;
  readonly filter: AnswerFilter;
  /** Input that is on its way to the program. */
  typingBytes: number;
  cancelFlush: () => void;
  begun: boolean;
  /** What it was told of the viewers last. */
  seen: string;
}

/** One terminal and all who look at it. */
export class Attachment {
  readonly terminalId: string;
  readonly #deps: AttachmentDeps;
  readonly #onEmpty: () => void;
  readonly #shared: SharedOutput;
  readonly #viewers = new Map<number, AttachedViewer>();
  #viewerStates: ViewerStates = [];
  #applied: TerminalSize | null = null;
  #nextId = 1;
  /** Who typed last, when nothing else happened since: of the next key nobody need hear. */
  #typing: number | null = null;
  /** The end of the program. */
  #exit: TerminalExit | null = null;
  /** What it left on the screen, for those who had not seen its end yet. */
  #leftScreen: Promise<TerminalSnapshot | null> | null = null;
  readonly #stopListening: () => void;

  constructor(deps: AttachmentDeps, terminalId: string, onEmpty: () => void) {
    this.#deps = deps;
    this.terminalId = terminalId;
    this.#onEmpty = onEmpty;
    this.#shared = new SharedOutput(deps);
    // Whoever was skipped when it ended is not told by a stream, and the host may have let go of it by then.
    this.#stopListening = deps.host.onExit((ended) => {
      if (ended?.terminalId === terminalId) this.#exit ??= ended.exit;
    });
  }

  get size(): number {
    return this.#viewers.size;
  }

  /** Lets a viewer in. */
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
    this.#happened({ kind: "came", id, mode, size: request.size ?? null });
    feed.start(from);
    return {
      receive: (data, isBinary) => this.#receive(viewer, data, isBinary),
      drained: () => feed.drained(),
      leave: () => this.#leave(viewer),
    };
  }

  /** Lets go of everybody. */
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
      this.#happened({ kind: "resized", id, size: frame.size });
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
    if (this.#typing !== viewer.id) this.#happened({ kind: "typed", id: viewer.id });
    this.#typing = viewer.id;
    if (viewer.typingBytes > 0 && viewer.typingBytes + data.byteLength > maxTypingBytes)
      return this.#notTaken("too much");
    viewer.typingBytes += data.byteLength;
    this.#deps.host
      .write(this.terminalId, data)
      .catch((error: unknown) => this.#notTaken(messageOf(error)))
      .finally(() => {
        viewer.typingBytes -= data.byteLength;
      });
  }

  /** A program that ended tells so by its exit; one that does not read loses what is typed, as in any terminal. */
  #notTaken(reason: string): void {
    this.#deps.log.debug({ terminalId: this.terminalId, reason }, "input was not taken");
  }

  #leave(viewer: AttachedViewer): void {
    if (!this.#viewers.delete(viewer.id)) return;
    viewer.feed.close();
    viewer.cancelFlush();
    this.#happened({ kind: "left", id: viewer.id });
    if (this.#viewers.size > 0) return;
    this.#stopListening();
    this.#onEmpty();
  }

  #happened(event: ViewerEvent): void {
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
      this.#typing = null; // the next key tries again
      this.#deps.log.debug({ terminalId: this.terminalId, reason: messageOf(error) }, "a terminal was not resized");
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
      viewer.link.close(terminalCloseCodes.restarting, "The terminal cannot be followed at the moment.");
      this.#leave(viewer);
      return;
    }
    if (end.kind === "exit") {
      this.#sayExit(viewer, exit);
      return;
    }
    // The terminal was forgotten before this one had seen its end.
    this.#leftScreen ??= this.#lastScreen();
    void this.#leftScreen.then((left) => {
      if (!this.#viewers.has(viewer.id)) return;
      if (left !== null) viewer.writer.screen(left);
      this.#sayExit(viewer, exit);
    });
  }

  #sayExit(viewer: AttachedViewer, exit: TerminalExit): void {
    viewer.writer.exit(exit);
    viewer.link.close(terminalCloseCodes.ended, "The program has ended.");
    this.#leave(viewer);
  }

  async #lastScreen(): Promise<TerminalSnapshot | null> {
    const { host } = this.#deps;
    try {
      return await host.snapshot(this.terminalId);
    } catch {
      // The host has let go of it; what it recorded is kept longer.
      const recording = await host.recording(this.terminalId).catch(() => null);
      return recording === null ? null : recording.screenAt(recording.endsAt).catch(() => null);
    }
  }
}

/** Where a viewer goes on: in the same terminal only, and only if its frames tell it where it is. */
function fromOf({ protocol, continueAt }: ViewRequest, terminalId: string): number | undefined {
  return protocol === "v1" && continueAt?.terminalId === terminalId ? continueAt.offset : undefined;
}
