import type { Socket } from "node:net";
import type { Clock } from "../core/clock.ts";
import { jsonFrame, outputFrame } from "./protocol.ts";
import type { Pty } from "./pty.ts";
import type { RawLog } from "./raw-log.ts";
import type { SizeHistory } from "./size-history.ts";
import type { TerminalExit } from "./terminal-info.ts";

/** One attached reader of a terminal's output. Output that it has not received yet is in the raw log, not in memory. */
export type Viewer = ReturnType<typeof createViewer>;

/** If more than this is unsent, a viewer continues from the log once the socket has drained. */
const SOCKET_HIGH_BYTES = 256 * 1024;
/** Frame size while catching up: larger frames were no faster (measured). */
const CATCH_UP_BYTES = 64 * 1024;

/** The point from which a viewer receives output: after `offset` bytes and the first `sizes` sizes. */
export interface ViewerPlace {
  readonly offset: number;
  readonly sizes: number;
}

/** `onProgress` is called whenever the backlog has shrunk, `onClose` once, when the viewer is gone. */
export function createViewer(
  socket: Socket,
  { log, sizes }: { readonly log: RawLog; readonly sizes: SizeHistory },
  options: { readonly place: ViewerPlace; onProgress(): void; onClose(): void },
) {
  let cursor = options.place.offset;
  let sizesSent = options.place.sizes;
  let exit: TerminalExit | undefined;
  let closed = false;

  function pump(): void {
    while (!closed && socket.writableLength < SOCKET_HIGH_BYTES) {
      const next = sizes.after(sizesSent);
      if (next !== null && next !== undefined && next.offset <= cursor) {
        sizesSent++;
        socket.write(jsonFrame({ type: "size", cols: next.cols, rows: next.rows }));
      } else if (cursor < log.endOffset) {
        const bytes = next === null ? undefined : sendFromLog((next?.offset ?? log.endOffset) - cursor);
        if (bytes === undefined || bytes === 0) finish({ type: "end", code: "reader_behind" });
        else cursor += bytes;
      } else break;
    }
    if (exit !== undefined && cursor === log.endOffset && sizesSent === sizes.count) finish({ type: "exit", exit });
  }

  /** @returns the number of bytes sent; undefined when the log no longer has them */
  function sendFromLog(maxBytes: number): number | undefined {
    const target = Buffer.allocUnsafe(Math.min(CATCH_UP_BYTES, maxBytes));
    const bytes = log.readAt(cursor, target);
    if (bytes !== undefined) socket.write(outputFrame(target.subarray(0, bytes)));
    return bytes;
  }

  function finish(lastMessage: unknown): void {
    if (closed) return;
    socket.end(jsonFrame(lastMessage));
    close();
  }

  function close(): void {
    if (closed) return;
    closed = true;
    socket.off("drain", onDrain);
    socket.off("close", close);
    options.onClose();
  }

  function onDrain(): void {
    pump();
    if (!closed) options.onProgress();
  }

  socket.on("drain", onDrain);
  socket.on("close", close);

  return {
    /** Sends output that is already in the log. */
    start: pump,
    /** New output that begins at `offset`: `frame` holds `sizeBytes` of it. */
    onOutput(frame: Buffer, offset: number, sizeBytes: number): void {
      if (closed || cursor !== offset || sizesSent !== sizes.count) return;
      if (socket.writableLength >= SOCKET_HIGH_BYTES) return;
      cursor += sizeBytes;
      socket.write(frame);
    },
    /** Sends the new size at its place in the output. */
    onResize: pump,
    /** The program ended and all its output is in the log. */
    onEnd(ended: TerminalExit): void {
      exit = ended;
      pump();
    },
    /** Bytes between the program and the reader. */
    backlogBytes: () => log.endOffset - cursor + socket.writableLength,
    close(): void {
      socket.destroy();
      close();
    },
  };
}

/** The program is paused when even the fastest reader is more than this behind, until that reader is at most `READER_LOW_BYTES` behind. */
const READER_HIGH_BYTES = 1024 * 1024;
const READER_LOW_BYTES = 256 * 1024;
/** A reader pauses the program for at most this long at a time. Then it is ignored until it has caught up. */
const READER_HOLD_MS = 1_000;
/** A program that was paused for the model continues at this share of the limit, which the model reaches a few batches later. */
const MODEL_RESUME = 0.97;

/**
 * Pauses a program until its readers catch up. `readers` can pause it for a second at a time; the screen model, whose place in the
 * raw log must not be dropped, for as long as it is more than `modelMaxBytes` behind.
 */
export function createOutputFlow(
  pty: Pick<Pty, "pause" | "resume">,
  parts: {
    readonly readers: ReadonlySet<Viewer>;
    readonly modelBacklogBytes: () => number;
    readonly modelMaxBytes: number;
    readonly clock: Clock;
  },
) {
  const { readers, modelBacklogBytes, modelMaxBytes, clock } = parts;
  const ignored = new WeakSet<Viewer>();
  let modelHolds = false;
  let readersHold = false;
  let cancelHold: (() => void) | undefined;

  function fastest(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const reader of readers) {
      const backlog = reader.backlogBytes();
      if (backlog < READER_LOW_BYTES) ignored.delete(reader);
      if (!ignored.has(reader)) least = Math.min(least, backlog);
    }
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }

  /** Call this after output, and whenever a backlog has shrunk. */
  function update(): void {
    modelHolds = modelBacklogBytes() > (modelHolds ? modelMaxBytes * MODEL_RESUME : modelMaxBytes);
    const hold = fastest() > (readersHold ? READER_LOW_BYTES : READER_HIGH_BYTES);
    if (hold && !readersHold) cancelHold = clock.after(READER_HOLD_MS, giveUp);
    if (!hold) cancelHold?.();
    readersHold = hold;
    if (modelHolds || readersHold) pty.pause();
    else pty.resume();
  }

  function giveUp(): void {
    for (const reader of readers) ignored.add(reader);
    update();
  }

  return { update, close: () => cancelHold?.() };
}
