import type { Clock } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { MAX_INPUT_BYTES } from "./protocol.ts";

/** Delays between tries while the program's input buffer is full. The first is short because a TUI reads within a millisecond. */
const RETRY_MIN_MS = 1;
const RETRY_MAX_MS = 16;
/** If a program has read nothing for this long, old input is dropped. */
const STALL_MS = 60_000;

interface Waiting {
  readonly data: Uint8Array;
  written: number;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Input for a program, in order, at most 4 MiB. `write` accepts what it can from `at` on and returns how much. It throws `EAGAIN` if it can
 * accept nothing now, and returns undefined if it will never accept more.
 */
export function createInputQueue(write: (data: Uint8Array, at: number) => number | undefined, clock: Clock) {
  let waiting: Waiting[] = [];
  let waitingBytes = 0;
  let closed = false;
  let retrying = false;
  let retryMs = RETRY_MIN_MS;
  let progressAt = clock.now();

  function flush(): void {
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      const written = tryWrite(head.data, head.written);
      if (closed) return;
      if (written > 0) {
        head.written += written;
        waitingBytes -= written;
        progressAt = clock.now();
        retryMs = RETRY_MIN_MS;
      }
      if (head.written < head.data.byteLength) {
        if (written === 0 && clock.now() - progressAt >= STALL_MS) rejectAll(stalled());
        else retryLater();
        return;
      }
      waiting.shift();
      head.resolve();
    }
  }

  function tryWrite(data: Uint8Array, at: number): number {
    try {
      const taken = write(data, at);
      if (taken === undefined) close();
      return taken ?? 0;
    } catch (error) {
      if (!isErrno(error, "EAGAIN")) close(); // the terminal is hung up
      return 0;
    }
  }

  function retryLater(): void {
    if (retrying) return;
    retrying = true;
    clock.after(retryMs, () => {
      retrying = false;
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      if (!closed) flush();
    });
  }

  function rejectAll(error: Error): void {
    const rejected = waiting;
    waiting = [];
    waitingBytes = 0;
    for (const one of rejected) one.reject(error);
  }

  /** Rejects waiting input with `terminal_gone`. Nothing more is written. */
  function close(): void {
    closed = true;
    rejectAll(gone());
  }

  return {
    get isWaiting(): boolean {
      return waiting.length > 0;
    },
    /** Resolves when the kernel has accepted all of `data`. @throws PosternError `terminal_gone` | `input_queue_full` | `input_stalled` */
    push(data: Uint8Array): Promise<void> {
      if (closed) return Promise.reject(gone());
      if (waitingBytes + data.byteLength > MAX_INPUT_BYTES) return Promise.reject(full());
      const written = waiting.length === 0 ? tryWrite(data, 0) : 0;
      if (closed) return Promise.reject(gone());
      if (written === data.byteLength && waiting.length === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) progressAt = clock.now();
        waiting.push({ data, written, resolve, reject });
        waitingBytes += data.byteLength - written;
        retryLater();
      });
    },
    close,
  };
}

function gone(): PosternError {
  return new PosternError("terminal_gone", "The program ended before it read this input.");
}

function full(): PosternError {
  return new PosternError(
    "input_queue_full",
    `The program is not reading: more than ${MAX_INPUT_BYTES} bytes of input are waiting for it.`,
  );
}

function stalled(): PosternError {
  return new PosternError(
    "input_stalled",
    `The program read no input for ${STALL_MS / 1000} s, so the rest was dropped.`,
  );
}
