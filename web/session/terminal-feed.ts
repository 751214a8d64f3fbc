import { incompleteCharacterBytes } from "../../src/core/utf8.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface FedTerminal {
  readonly cols: number;
  readonly rows: number;
  write(data: Uint8Array | string, parsed: () => void): void;
  resize(cols: number, rows: number): void;
}

/** Bytes per write. Parsing them takes a few milliseconds, so the page stays responsive. */
const batchBytes = 32 * 1024;

/** Above this, output is refused and the connection starts over with a screen. */
const defaultMaxWaitingBytes = 4 * 1024 * 1024;

/** Cancels a pending sequence, then resets the terminal. */
const emptyTerminal = "\x18\x1bc";

type Item =
  | { readonly kind: "output"; readonly data: Uint8Array }
  | { readonly kind: "size"; readonly size: TerminalSize }
  | { readonly kind: "empty" };

export interface TerminalFeed {
  /** Accepts all of `data`, or none (false) if too much is waiting. */
  write(data: Uint8Array): boolean;
  /** Drops what is waiting: a screen will replace it. */
  drop(): void;
  /** Resets the terminal and shows `data`, which includes what was waiting. */
  repaint(data: Uint8Array): void;
  resize(size: TerminalSize): void;
  /** Calls back once nothing is waiting. */
  whenDrained(callback: () => void): void;
  close(): void;
}

export function createTerminalFeed(
  terminal: FedTerminal,
  options: { readonly maxWaitingBytes?: number; readonly onResize?: (size: TerminalSize) => void } = {},
): TerminalFeed {
  const { maxWaitingBytes = defaultMaxWaitingBytes, onResize } = options;
  let items: Item[] = [];
  let waitingBytes = 0;
  let lastSize: TerminalSize | null = null;
  let cut: Uint8Array = new Uint8Array(0);
  let writing = false;
  let closed = false;
  let drained: (() => void)[] = [];

  function enqueue(item: Item): void {
    items.push(item);
    if (item.kind === "output") waitingBytes += item.data.byteLength;
    pump();
  }

  function pump(): void {
    while (!writing && !closed) {
      const next = items[0];
      if (next === undefined) return notifyDrained();
      if (next.kind === "output") hand(takeBatch());
      else {
        items.shift();
        if (next.kind === "empty") {
          cut = new Uint8Array(0);
          hand(emptyTerminal);
        } else apply(next.size);
      }
    }
  }

  function hand(data: Uint8Array | string): void {
    writing = true;
    terminal.write(data, () => {
      writing = false;
      pump();
    });
  }

  function apply(size: TerminalSize): void {
    if (terminal.cols !== size.cols || terminal.rows !== size.rows) terminal.resize(size.cols, size.rows);
    onResize?.(size);
  }

  /** The next output, in whole characters: xterm's decoder loses some that are cut. */
  function takeBatch(): Uint8Array {
    const parts: Uint8Array[] = [cut];
    let bytes = cut.byteLength;
    for (let next = items[0]; next?.kind === "output" && bytes < batchBytes; next = items[0]) {
      const room = batchBytes - bytes;
      const part = next.data.subarray(0, room);
      parts.push(part);
      bytes += part.byteLength;
      waitingBytes -= part.byteLength;
      if (part.byteLength < next.data.byteLength) items[0] = { kind: "output", data: next.data.subarray(room) };
      else items.shift();
    }
    const joined = join(parts, bytes);
    const whole = bytes - incompleteCharacterBytes(joined);
    cut = joined.slice(whole);
    return joined.subarray(0, whole);
  }

  /** Keeps the last size, because a screen needs it. */
  function drop(): void {
    items = [];
    waitingBytes = 0;
  }

  function notifyDrained(): void {
    const callbacks = drained;
    drained = [];
    for (const callback of callbacks) callback();
  }

  return {
    write(data) {
      if (closed || waitingBytes + data.byteLength > maxWaitingBytes) return false;
      if (data.byteLength > 0) enqueue({ kind: "output", data });
      return true;
    },
    drop,
    repaint(data) {
      drop();
      if (lastSize !== null) items.push({ kind: "size", size: lastSize });
      items.push({ kind: "empty" });
      enqueue({ kind: "output", data });
    },
    resize(size) {
      lastSize = size;
      enqueue({ kind: "size", size });
    },
    whenDrained(callback) {
      if (items.length === 0 && !writing) callback();
      else drained.push(callback);
    },
    close() {
      closed = true;
      drop();
      drained = [];
    },
  };
}

function join(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const joined = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.byteLength;
  }
  return joined;
}
