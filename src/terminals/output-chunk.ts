import { isUtf8 } from "node:buffer";
import { incompleteCharacterBytes } from "../core/utf8.ts";
import { binaryFrameKinds, outputFrameHeadBytes } from "../wire/terminal.ts";

/** Output as text frames, and the bytes of a character that is not complete yet. */
export interface TextOutput {
  readonly frames: readonly Buffer[];
  readonly carry: Buffer;
}

export const noBytes: Buffer = Buffer.alloc(0);

/** A piece of a terminal's output with its place, framed once however many viewers get it. */
export class OutputChunk {
  readonly data: Buffer;
  /** Bytes of output before it. */
  readonly offset: number;
  #frame: Buffer | undefined;
  #text: { readonly carry: Buffer; readonly output: TextOutput } | undefined;

  constructor(data: Uint8Array, offset: number) {
    this.data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    this.offset = offset;
  }

  get end(): number {
    return this.offset + this.data.byteLength;
  }

  /** The part behind `offset`. */
  after(offset: number): OutputChunk {
    return offset <= this.offset ? this : new OutputChunk(this.data.subarray(offset - this.offset), offset);
  }

  /** As a binary frame of the subprotocol. */
  binaryFrame(): Buffer {
    this.#frame ??= frameOf("output", this.offset, this.data);
    return this.#frame;
  }

  /** As text frames for who holds `carry` of the output before. */
  textFrames(carry: Buffer): TextOutput {
    if (this.#text === undefined || !this.#text.carry.equals(carry)) {
      this.#text = { carry, output: toTextOutput(carry, this.data) };
    }
    return this.#text.output;
  }
}

/** A binary frame of the subprotocol. @see binaryFrameKinds */
export function frameOf(kind: keyof typeof binaryFrameKinds, offset: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(outputFrameHeadBytes + payload.byteLength);
  frame.writeUInt8(binaryFrameKinds[kind], 0);
  frame.writeUInt32BE(Math.floor(offset / 2 ** 32), 1);
  frame.writeUInt32BE(offset % 2 ** 32, 5);
  frame.set(payload, outputFrameHeadBytes);
  return frame;
}

/** Cuts output at its last complete character. What is no UTF-8 at all becomes U+FFFD. */
export function toTextOutput(carry: Buffer, data: Buffer): TextOutput {
  const joined = carry.byteLength === 0 ? data : Buffer.concat([carry, data]);
  const cut = joined.byteLength - incompleteCharacterBytes(joined);
  // A copy: the few bytes would keep the whole piece in memory.
  const rest = cut === joined.byteLength ? noBytes : Buffer.from(joined.subarray(cut));
  return { frames: toTextFrames(joined.subarray(0, cut)), carry: rest };
}

/**
 * Text frames of these bytes, none of which can be taken for a control frame: what would parse as a JSON object is cut behind its
 * first brace, so that neither part of it parses.
 */
export function toTextFrames(bytes: Buffer): readonly Buffer[] {
  if (bytes.byteLength === 0) return [];
  const text = isUtf8(bytes) ? bytes : Buffer.from(bytes.toString("utf8"));
  const brace = firstBraceOfObject(text);
  return brace === -1 ? [text] : [text.subarray(0, brace + 1), text.subarray(brace + 1)];
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;

/** Where the brace of a JSON object stands, if the text may be one; else -1. An object with members begins with a brace and a quote. */
function firstBraceOfObject(text: Buffer): number {
  const last = text.findLastIndex((byte) => !isBlank(byte));
  if (text[last] !== closeBrace) return -1;
  const brace = text.findIndex((byte) => !isBlank(byte));
  if (text[brace] !== openBrace) return -1;
  const next = text.subarray(brace + 1).findIndex((byte) => !isBlank(byte));
  return text[brace + 1 + next] === quote ? brace : -1;
}

/** White space of JSON, and the bytes of a byte order mark, which some parsers pass over. */
function isBlank(byte: number): boolean {
  return (
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0xef || byte === 0xbb || byte === 0xbf
  );
}
