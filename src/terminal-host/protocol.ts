/**
 * The protocol of gateway and terminal host on a Unix socket: frames of a length (4 bytes, big-endian), a kind (1 byte) and a body. A
 * connection begins with a hello from each side; then it carries requests (role `control`) or one terminal's output (role `attach`).
 */

/** Increased by changes that old peers cannot work with. */
export const PROTOCOL_MAJOR = 1;
/**
 * Increased by every addition that a peer may lack: see {@link METHODS}. Both sides ignore unknown fields and events. Since 2, a reader
 * receives sizes, and can give the offset at which it continues (older hosts send the screen). Since 3, a host retires when a gateway of another
 * version connects. Since 4 a snapshot can be `plain`: without `ansi` (older hosts paint it anyway). Since 5, a plain snapshot also has the rows
 * without faint text (`bright`). Since 6 input can have a condition ({@link CONDITIONAL_INPUT_MINOR}).
 */
export const PROTOCOL_MINOR = 6;

/** Hosts from this minor version on accept {@link FRAME.inputIfUnchanged}. */
export const CONDITIONAL_INPUT_MINOR = 6;

/** Each request with the minor version that added it. */
export const METHODS = {
  spawn: 0,
  list: 0,
  resize: 0,
  snapshot: 0,
  end: 0,
  renameLease: 0,
  forget: 0,
  attach: 0,
  status: 1,
  release: 2,
  retire: 3,
} as const;

export type Method = keyof typeof METHODS;

export const FRAME = { json: 1, output: 2, input: 3, inputIfUnchanged: 4 } as const;

/** The largest input, which is accepted or refused as a whole. */
export const MAX_INPUT_BYTES = 4 * 1024 * 1024;
/** The largest input with its header. */
export const MAX_FRAME_TO_HOST = MAX_INPUT_BYTES + 1024;
/** A snapshot of the largest screen, with every cell in another color. */
export const MAX_FRAME_TO_CLIENT = 48 * 1024 * 1024;

/** The host's hello: the major version that both sides use, and the host's identity. */
export interface HostHello {
  readonly type: "hello";
  readonly major: number;
  readonly minor: number;
  readonly hostVersion: string;
  readonly pid: number;
  readonly pidStartTime: string;
}

/** One complete frame. */
export interface Frame {
  readonly kind: number;
  readonly body: Buffer;
}

const HEAD_BYTES = 5;

/** Encodes `value` as a JSON frame. */
export function jsonFrame(value: unknown): Buffer {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  writeHead(frame, FRAME.json, length);
  frame.write(text, HEAD_BYTES);
  return frame;
}

/** Encodes output bytes (copied). */
export function outputFrame(data: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + data.byteLength);
  writeHead(frame, FRAME.output, data.byteLength);
  frame.set(data, HEAD_BYTES);
  return frame;
}

/** Input for one terminal. */
export interface Input {
  /** ASCII, at most 255 characters. */
  readonly terminalId: string;
  readonly data: Uint8Array;
  /** Written only while the program's output ends at this offset; always, if undefined. */
  readonly ifOutputEndsAt?: number | undefined;
}

const OFFSET_BYTES = 8;

/** Encodes input; its reply carries `requestId`. */
export function inputFrame(requestId: number, { terminalId, data, ifOutputEndsAt }: Input): Buffer {
  const isConditional = ifOutputEndsAt !== undefined;
  const dataAt = 5 + terminalId.length + (isConditional ? OFFSET_BYTES : 0);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + dataAt + data.byteLength);
  writeHead(frame, isConditional ? FRAME.inputIfUnchanged : FRAME.input, dataAt + data.byteLength);
  const body = frame.subarray(HEAD_BYTES);
  body.writeUInt32BE(requestId, 0);
  body[4] = terminalId.length;
  body.write(terminalId, 5, "latin1");
  if (isConditional) body.writeBigUInt64BE(BigInt(ifOutputEndsAt), dataAt - OFFSET_BYTES);
  body.set(data, dataAt);
  return frame;
}

/** Reads an input frame; undefined when it is malformed. */
export function readInputFrame({ kind, body }: Frame): (Input & { readonly requestId: number }) | undefined {
  if (body.byteLength < 5) return undefined;
  const idEnd = 5 + (body[4] ?? 0);
  const isConditional = kind === FRAME.inputIfUnchanged;
  const dataAt = idEnd + (isConditional ? OFFSET_BYTES : 0);
  if (body.byteLength < dataAt) return undefined;
  return {
    requestId: body.readUInt32BE(0),
    terminalId: body.toString("latin1", 5, idEnd),
    data: body.subarray(dataAt),
    ifOutputEndsAt: isConditional ? Number(body.readBigUInt64BE(idEnd)) : undefined,
  };
}

function writeHead(frame: Buffer, kind: number, length: number): void {
  frame.writeUInt32BE(length, 0);
  frame[4] = kind;
}

/**
 * Splits a byte stream into frames. Output is passed on in parts as it arrives; all other frames are complete. If `push` returns false, for
 * a frame of an unknown kind or larger than `maxBytes`, the caller closes the connection. Memory is bounded by one frame and one chunk.
 */
export function createFrameReader(maxBytes: number, onFrame: (frame: Frame) => void): { push(chunk: Buffer): boolean } {
  const head = Buffer.alloc(HEAD_BYTES);
  let headFilled = 0;
  let missingOutput = 0;
  let kind = 0;
  let body: Buffer | undefined;
  let bodyFilled = 0;

  function readHead(source: Buffer, at: number): number {
    kind = source[at + 4] ?? 0;
    return source.readUInt32BE(at);
  }

  /** A frame whose body begins at `at`. @returns where to continue; undefined for an invalid frame */
  function begin(length: number, chunk: Buffer, at: number): number | undefined {
    if (length > maxBytes || kind < FRAME.json || kind > FRAME.inputIfUnchanged) return undefined;
    if (kind === FRAME.output) {
      missingOutput = length;
      return at;
    }
    const end = at + length;
    if (chunk.byteLength >= end) {
      onFrame({ kind, body: chunk.subarray(at, end) });
      return end;
    }
    body = Buffer.allocUnsafe(length);
    bodyFilled = 0;
    return at;
  }

  function beginAt(chunk: Buffer, at: number): number | undefined {
    if (headFilled === 0 && chunk.byteLength - at >= HEAD_BYTES) {
      return begin(readHead(chunk, at), chunk, at + HEAD_BYTES);
    }
    const copied = chunk.copy(head, headFilled, at, at + HEAD_BYTES - headFilled);
    headFilled += copied;
    if (headFilled < HEAD_BYTES) return chunk.byteLength;
    headFilled = 0;
    return begin(readHead(head, 0), chunk, at + copied);
  }

  function fill(target: Buffer, chunk: Buffer, at: number): number {
    const copied = chunk.copy(target, bodyFilled, at);
    bodyFilled += copied;
    if (bodyFilled === target.byteLength) {
      body = undefined;
      onFrame({ kind, body: target });
    }
    return at + copied;
  }

  return {
    push(chunk) {
      for (let at = 0; at < chunk.byteLength; ) {
        if (body !== undefined) {
          at = fill(body, chunk, at);
        } else if (missingOutput > 0) {
          const part = chunk.subarray(at, at + missingOutput);
          missingOutput -= part.byteLength;
          at += part.byteLength;
          onFrame({ kind: FRAME.output, body: part });
        } else {
          const next = beginAt(chunk, at);
          if (next === undefined) return false;
          at = next;
        }
      }
      return true;
    },
  };
}
