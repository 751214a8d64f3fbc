import { isUtf8 } from "node:buffer";
import { incompleteCharacterBytes } from "../core/utf8.ts";
import type { TerminalExit, TerminalSize, TerminalSnapshot } from "../terminal-host/terminal-info.ts";
import {
  binaryFrameKinds,
  type ExitFrame,
  outputFrameHeadBytes,
  type ServerFrame,
  type TerminalMode,
} from "../wire/terminal.ts";
import type { ViewerLink } from "./viewers.ts";

/** Output as text frames, and the bytes of an incomplete character. */
interface TextOutput {
  readonly frames: readonly Buffer[];
  readonly carry: Buffer;
}

export const noBytes: Buffer = Buffer.alloc(0);

/** A piece of a terminal's output with its offset, framed once for all viewers. */
export class OutputChunk {
  readonly data: Buffer;
  /** The number of output bytes before this chunk. */
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

  /** The part of this chunk after `offset`. */
  after(offset: number): OutputChunk {
    return offset <= this.offset ? this : new OutputChunk(this.data.subarray(offset - this.offset), offset);
  }

  /** As a binary frame of the subprotocol. */
  binaryFrame(): Buffer {
    this.#frame ??= frameOf("output", this.offset, this.data);
    return this.#frame;
  }

  /** As text frames, beginning with `carry`, the incomplete character of the previous output. */
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

/** Cuts output at its last complete character. Invalid UTF-8 becomes U+FFFD. */
export function toTextOutput(carry: Buffer, data: Buffer): TextOutput {
  const joined = carry.byteLength === 0 ? data : Buffer.concat([carry, data]);
  const cut = joined.byteLength - incompleteCharacterBytes(joined);
  // A copy, because a view would keep the whole piece in memory.
  const rest = cut === joined.byteLength ? noBytes : Buffer.from(joined.subarray(cut));
  return { frames: toTextFrames(joined.subarray(0, cut)), carry: rest };
}

/**
 * Text frames that cannot be mistaken for a control frame: text that would parse as a JSON object is split after its first brace, so that
 * neither part parses.
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

/** The index of the first brace if the text may be a JSON object, else -1. An object with members begins with a brace and a quote. */
function firstBraceOfObject(text: Buffer): number {
  const last = text.findLastIndex((byte) => !isBlank(byte));
  if (text[last] !== closeBrace) return -1;
  const brace = text.findIndex((byte) => !isBlank(byte));
  if (text[brace] !== openBrace) return -1;
  const next = text.subarray(brace + 1).findIndex((byte) => !isBlank(byte));
  return text[brace + 1 + next] === quote ? brace : -1;
}

const blank: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09, 0xef, 0xbb, 0xbf]);

/** JSON's white space, and the bytes of a byte order mark, which some parsers skip. */
function isBlank(byte: number): boolean {
  return blank.has(byte);
}

/** Sends a terminal's output and events in the viewer's protocol. */
export interface FrameWriter {
  hello(frame: {
    readonly terminalId: string;
    readonly mode: TerminalMode;
    readonly size: TerminalSize;
    readonly offset: number;
    readonly continued: boolean;
  }): void;
  /** Replaces the whole screen. */
  screen(snapshot: Pick<TerminalSnapshot, "ansi" | "offset">): void;
  output(chunk: OutputChunk): void;
  size(size: TerminalSize): void;
  viewers(seen: { readonly drivers: number; readonly observers: number; readonly sizer: boolean }): void;
  exit(exit: Pick<TerminalExit, "exitCode" | "signal">): void;
}

/** Ends an incomplete sequence, then clears screen, scrollback and modes. */
const resetSequence = "\x18\x1bc\x1b[3J";

/** @param protocol `plain` has frames for output and exit only */
export function createFrameWriter(link: ViewerLink, protocol: "plain" | "v1"): FrameWriter {
  return protocol === "plain" ? plainWriter(link) : v1Writer(link);
}

function plainWriter(link: ViewerLink): FrameWriter {
  let carry = noBytes;
  const send = (frames: readonly Buffer[]): void => {
    for (const frame of frames) link.sendText(frame);
  };
  return {
    hello: () => undefined,
    screen({ ansi }) {
      carry = noBytes;
      send(toTextFrames(Buffer.from(`${resetSequence}${ansi}`)));
    },
    output(chunk) {
      const output = chunk.textFrames(carry);
      carry = output.carry;
      send(output.frames);
    },
    size: () => undefined,
    viewers: () => undefined,
    exit(exit) {
      send(toTextFrames(carry)); // the program ended in the middle of a character
      carry = noBytes;
      link.sendText(JSON.stringify(exitFrame(exit)));
    },
  };
}

function v1Writer(link: ViewerLink): FrameWriter {
  const send = (frame: ServerFrame): void => link.sendText(JSON.stringify(frame));
  return {
    hello: ({ terminalId, mode, size: { cols, rows }, offset, continued }) =>
      send({ kind: "hello", terminalId, mode, cols, rows, offset, continued }),
    screen: ({ ansi, offset }) => link.sendBinary(frameOf("screen", offset, Buffer.from(ansi))),
    output: (chunk) => link.sendBinary(chunk.binaryFrame()),
    size: ({ cols, rows }) => send({ kind: "size", cols, rows }),
    viewers: (seen) => send({ kind: "viewers", ...seen }),
    exit: (exit) => send(exitFrame(exit)),
  };
}

function exitFrame({ exitCode, signal }: Pick<TerminalExit, "exitCode" | "signal">): ExitFrame {
  return { kind: "exit", exitCode, signal };
}
