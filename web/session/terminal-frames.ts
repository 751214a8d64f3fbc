import { type ServerFrame, serverFrameSchema, type TerminalMode } from "../../src/wire/terminal.ts";
import type { TerminalSize } from "./terminal-feed.ts";

/** Characters of input in one frame. */
const inputFrameLength = 16 * 1024;

/** A text frame of the gateway; null for one of a later version. */
export function parseServerFrame(text: string): ServerFrame | null {
  try {
    return serverFrameSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // no JSON: nothing that this protocol knows
  }
}

/** What was typed or pasted, in frames; never cut between the halves of a character. */
export function inputParts(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + inputFrameLength);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

/** Where the viewer is in the terminal's output; without an offset it has to begin with a screen. Null before the first hello. */
export interface Position {
  readonly terminalId: string;
  readonly offset: number | null;
}

/** What the socket's address says of the viewer. */
export function connectionQuery(viewer: {
  readonly sessionId: string;
  readonly ticket: string;
  readonly mode: TerminalMode | undefined;
  readonly size: TerminalSize | null;
  readonly position: Position | null;
}): string {
  const { sessionId, ticket, mode, size, position } = viewer;
  const query = new URLSearchParams({ session_id: sessionId, ticket });
  if (mode !== undefined) query.set("mode", mode);
  if (size !== null) {
    query.set("cols", String(size.cols));
    query.set("rows", String(size.rows));
  }
  if (position !== null) {
    query.set("terminal", position.terminalId); // it finds back by itself: an agent that has ended is not started by it
    if (position.offset !== null) query.set("from", String(position.offset));
  }
  return query.toString();
}
