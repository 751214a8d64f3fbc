import type { Socket } from "node:net";
import { jsonFrame, outputFrame } from "./protocol.ts";
import type { RawLog } from "./raw-log.ts";
import type { SizeHistory } from "./size-history.ts";
import type { TerminalExit } from "./terminal-info.ts";

/** One attached reader of a terminal's output. What it did not take yet lies in the raw log, not in memory. */
export interface Viewer {
  /** Sends what the log holds already. */
  start(): void;
  /** New output that begins at `offset`: `frame` holds `sizeBytes` of it. */
  onOutput(frame: Buffer, offset: number, sizeBytes: number): void;
  /** The terminal has a new size; its reader hears of it at this place in the output. */
  onResize(): void;
  /** The program ended and all its output is in the log. */
  onEnd(exit: TerminalExit): void;
  /** Bytes between the program and the reader. */
  backlogBytes(): number;
  close(): void;
}

/** More than this unsent on its socket, and a viewer reads on from the log when that was taken. */
const SOCKET_HIGH_BYTES = 256 * 1024;
/** Frame size while it catches up: larger frames measured no faster. */
const CATCH_UP_BYTES = 64 * 1024;

/** Where a viewer begins: behind `offset` bytes and the first `sizes` sizes. */
export interface ViewerPlace {
  readonly offset: number;
  readonly sizes: number;
}

/** A viewer that begins at a place. `onProgress` is called when its backlog shrank, `onClose` once when it is gone. */
export function createViewer(
  socket: Socket,
  { log, sizes }: { readonly log: RawLog; readonly sizes: SizeHistory },
  options: { readonly place: ViewerPlace; onProgress(): void; onClose(): void },
): Viewer {
  let cursor = options.place.offset;
  let sizesTold = options.place.sizes;
  let exit: TerminalExit | undefined;
  let closed = false;

  function pump(): void {
    while (!closed && socket.writableLength < SOCKET_HIGH_BYTES) {
      const next = sizes.after(sizesTold);
      if (next !== null && next !== undefined && next.offset <= cursor) {
        sizesTold++;
        socket.write(jsonFrame({ type: "size", cols: next.cols, rows: next.rows }));
      } else if (cursor < log.endOffset) {
        const bytes = next === null ? undefined : sendFromLog((next?.offset ?? log.endOffset) - cursor);
        if (bytes === undefined || bytes === 0) finish({ type: "end", code: "reader_behind" });
        else cursor += bytes;
      } else break;
    }
    if (exit !== undefined && isCurrent()) finish({ type: "exit", exit });
  }

  /** Returns how much it was; undefined when the log has it no more. */
  function sendFromLog(maxBytes: number): number | undefined {
    const target = Buffer.allocUnsafe(Math.min(CATCH_UP_BYTES, maxBytes));
    const bytes = log.readAt(cursor, target);
    if (bytes !== undefined) socket.write(outputFrame(target.subarray(0, bytes)));
    return bytes;
  }

  function isCurrent(): boolean {
    return cursor === log.endOffset && sizesTold === sizes.count;
  }

  function finish(lastWord: unknown): void {
    if (closed) return;
    socket.end(jsonFrame(lastWord));
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
    start: pump,
    onOutput(frame, offset, sizeBytes) {
      if (closed || cursor !== offset || sizesTold !== sizes.count) return;
      if (socket.writableLength >= SOCKET_HIGH_BYTES) return;
      cursor += sizeBytes;
      socket.write(frame);
    },
    onResize: pump,
    onEnd(ended) {
      exit = ended;
      pump();
    },
    backlogBytes: () => log.endOffset - cursor + socket.writableLength,
    close() {
      socket.destroy();
      close();
    },
  };
}
