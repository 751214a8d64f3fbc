import { clampSize } from "../core/terminal-size.ts";
import type { TerminalSize } from "../terminal-host/terminal-info.ts";
import { type ClientFrame, clientFrameSchema } from "../wire/terminal.ts";

/** Input for the program, or the size of the client's window. */
type ClientInput =
  | { readonly kind: "input"; readonly data: Buffer }
  | { readonly kind: "resize"; readonly size: TerminalSize };

/**
 * Reads a client's frame. Only a text frame that is a JSON object with a known `kind` and valid fields is a control frame; everything
 * else is input, byte for byte.
 */
export function readClientFrame(frame: Buffer, isBinary: boolean): ClientInput {
  if (isBinary) return { kind: "input", data: frame };
  const key = readKey(frame);
  if (key !== undefined) return { kind: "input", data: key };
  const control = parseControl(frame);
  if (control === undefined) return { kind: "input", data: frame };
  if (control.kind === "input") return { kind: "input", data: Buffer.from(control.data) };
  const { cols, rows } = control;
  return { kind: "resize", size: clampSize({ cols, rows }) };
}

const keyHead = Buffer.from('{"kind":"input","data":"');
const keyTail = Buffer.from('"}');
/** A single keystroke sends fewer bytes. */
const maxKeyBytes = 64;

/**
 * Reads a few printable ASCII characters as `JSON.stringify` writes them, byte by byte: a JSON parser takes six times as long (measured).
 * Undefined for every other frame.
 */
function readKey(frame: Buffer): Buffer | undefined {
  const end = frame.byteLength - keyTail.byteLength;
  if (end <= keyHead.byteLength || frame.byteLength > maxKeyBytes) return undefined;
  for (let at = 0; at < keyHead.byteLength; at += 1) if (frame[at] !== keyHead[at]) return undefined;
  for (let at = 0; at < keyTail.byteLength; at += 1) if (frame[end + at] !== keyTail[at]) return undefined;
  for (let at = keyHead.byteLength; at < end; at += 1) {
    const byte = frame[at] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === quote || byte === backslash) return undefined;
  }
  return frame.subarray(keyHead.byteLength, end);
}

const quote = 0x22;
const backslash = 0x5c;

function parseControl(frame: Buffer): ClientFrame | undefined {
  if (frame.byteLength < 2 || !frame.includes('"kind"')) return undefined;
  try {
    const value: unknown = JSON.parse(frame.toString("utf8"));
    return isInput(value) ? value : clientFrameSchema.safeParse(value).data;
  } catch {
    return undefined; // typed or pasted text
  }
}

/** Checks by hand, for the sake of keys: the schema takes about twice as long (measured). */
function isInput(value: unknown): value is Extract<ClientFrame, { kind: "input" }> {
  if (typeof value !== "object" || value === null || !("kind" in value) || !("data" in value)) return false;
  return value.kind === "input" && typeof value.data === "string";
}
