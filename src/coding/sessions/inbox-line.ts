import { z } from "zod";

const lineSchema = z.looseObject({ payload: z.unknown() });

/** The hook payload (JSON text) in one line of an inbox; null for a line that is not of the hook script's form. */
export function parseInboxLine(line: string): string | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(line));
    if (!parsed.success || parsed.data.payload === undefined) return null;
    return typeof parsed.data.payload === "string" ? parsed.data.payload : JSON.stringify(parsed.data.payload);
  } catch {
    return null; // half a line, or not a hook's: it claims nothing
  }
}
