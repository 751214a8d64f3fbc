import { type ServerFrame, serverFrameSchema } from "../../src/wire/terminal.ts";

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
