import type { Socket } from "node:net";
import { jsonFrame, outputFrame } from "./protocol.ts";
import type { RawLog } from "./raw-log.ts";
import type { TerminalExit } from "./terminal-info.ts";

/** One attached reader of a terminal's output. What it did not take yet lies in the raw log, not in memory. */
export interface Viewer {
  /** Sends what the log holds already. */
  start(): void;
  /** New output that begins at `offset`: `frame` holds `sizeBytes` of it. */
  onOutput(frame: Buffer, offset: number, sizeBytes: number): void;
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

/** A viewer that begins at `offset`. `onProgress` is called when its backlog shrank, `onClose` once when it is gone. */
export function createViewer(
  socket: Socket,
  log: RawLog,
  options: { readonly offset: number; onProgress(): void; onClose(): void },
): Viewer {
  let cursor = options.offset;
  let exit: TerminalExit | undefined;
  let closed = false;

  function pump(): void {
    while (!closed && cursor < log.endOffset && socket.writableLength < SOCKET_HIGH_BYTES) {
      const target = Buffer.allocUnsafe(CATCH_UP_BYTES);
      const bytes = log.readAt(cursor, target);
      if (bytes === undefined) {
        finish({ type: "end", code: "reader_behind" });
        return;
      }
      cursor += bytes;
      socket.write(outputFrame(target.subarray(0, bytes)));
    }
    if (exit !== undefined && cursor === log.endOffset) finish({ type: "exit", exit });
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
      if (closed || cursor !== offset || socket.writableLength >= SOCKET_HIGH_BYTES) return;
      cursor += sizeBytes;
      socket.write(frame);
    },
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
