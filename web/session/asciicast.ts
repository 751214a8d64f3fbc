import { z } from "zod";
import type { TerminalSize } from "./terminal-feed.ts";

/** The first line of a recording. @see https://docs.asciinema.org/manual/asciicast/v2/ */
const headerSchema = z.looseObject({
  version: z.literal(2),
  width: z.int().min(1).max(1_000),
  height: z.int().min(1).max(500),
  timestamp: z.number().optional(),
});

const eventSchema = z.tuple([z.number(), z.string(), z.string()]);
const sizePattern = /^(\d{1,4})x(\d{1,4})$/;

/** What a recording says: its head, then output and sizes with the seconds since the head's time. */
export type CastLine =
  | { readonly kind: "head"; readonly size: TerminalSize; readonly startedAt: number | null }
  | { readonly kind: "output"; readonly atS: number; readonly data: string }
  | { readonly kind: "size"; readonly atS: number; readonly size: TerminalSize };

/** A line of a recording; null for one that is empty, damaged, or of a kind that nothing is shown of. */
export function parseCastLine(line: string): CastLine | null {
  const value = parseJson(line);
  const head = headerSchema.safeParse(value);
  if (head.success) {
    const { width, height, timestamp } = head.data;
    return { kind: "head", size: { cols: width, rows: height }, startedAt: timestamp ?? null };
  }
  const event = eventSchema.safeParse(value);
  if (!event.success) return null;
  const [atS, kind, data] = event.data;
  if (kind === "o") return { kind: "output", atS, data };
  const size = kind === "r" ? sizePattern.exec(data) : null;
  return size === null ? null : { kind: "size", atS, size: { cols: Number(size[1]), rows: Number(size[2]) } };
}

/** The longest line that is kept; a longer one is damaged, or no recording. */
const maxLineLength = 16 * 1024 * 1024;

/** The lines of a recording as they come from the network. */
export async function* readCast(body: ReadableStream<Uint8Array>): AsyncGenerator<CastLine, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      if (rest.length > maxLineLength) throw new Error("The recording contains a line that is too long.");
      for (const line of lines) {
        const parsed = parseCastLine(line);
        if (parsed !== null) yield parsed;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it is over either way
  }
}

function parseJson(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return value;
  } catch {
    return null; // a line that was cut
  }
}
