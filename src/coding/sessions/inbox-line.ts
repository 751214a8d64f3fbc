import { z } from "zod";

// The last millisecond that a date can name: a forged time must not break whoever formats it.
const lastTime = 8_640_000_000_000_000;
const lineSchema = z.looseObject({ at: z.number().min(0).max(lastTime).nullable().catch(null), payload: z.unknown() });

/** One line of an inbox. */
export interface InboxLine {
  /** The hook payload, JSON text. */
  readonly payload: string;
  /** When the hook script wrote it, epoch milliseconds; null when it does not say. */
  readonly at: number | null;
}

/** Reads one line of an inbox; null for a line that is not of the hook script's form. */
export function parseInboxLine(line: string): InboxLine | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(line));
    if (!parsed.success || parsed.data.payload === undefined) return null;
    const { at, payload } = parsed.data;
    return { at, payload: typeof payload === "string" ? payload : JSON.stringify(payload) };
  } catch {
    return null; // half a line, or not a hook's: it claims nothing
  }
}
