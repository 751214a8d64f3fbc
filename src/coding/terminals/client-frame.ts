import type { TerminalSize } from "../../terminal-host/terminal-info.ts";
import { type ClientFrame, clientFrameSchema } from "../../wire/terminal.ts";
import { clampSize } from "./viewers.ts";

/** What a client sent: text for the program, or its window's size. */
export type ClientWord =
  | { readonly kind: "input"; readonly data: Buffer }
  | { readonly kind: "resize"; readonly size: TerminalSize };

/**
 * Reads a frame of a client. Only a text frame that is a JSON object with a known `kind` and fields of the right types is a control
 * frame; all else is input, byte for byte.
 * @see the seed, "WebSocket"
 */
export function readClientFrame(frame: Buffer, isBinary: boolean): ClientWord {
  const control = isBinary ? undefined : parseControl(frame);
  if (control === undefined) return { kind: "input", data: frame };
  if (control.kind === "input") return { kind: "input", data: Buffer.from(control.data) };
  const { cols, rows } = control;
  return { kind: "resize", size: clampSize({ cols, rows }) };
}

function parseControl(frame: Buffer): ClientFrame | undefined {
  // Text alone is not parsed.
  if (frame.byteLength < 2 || !frame.includes('"kind"')) return undefined;
  try {
    const value: unknown = JSON.parse(frame.toString("utf8"));
    return isInput(value) ? value : clientFrameSchema.safeParse(value).data;
  } catch {
    return undefined; // no JSON: it was typed or pasted
  }
}

/** Keys: with the schema, reading one measured about twice as long. */
function isInput(value: unknown): value is Extract<ClientFrame, { kind: "input" }> {
  if (typeof value !== "object" || value === null || !("kind" in value) || !("data" in value)) return false;
  return value.kind === "input" && typeof value.data === "string";
}
