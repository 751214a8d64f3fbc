import { z } from "zod";
import { sha256 } from "../core/ids.ts";

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

const noteSchema = z.strictObject({
  at: z.number(),
  permissionId: z.string(),
  behavior: z.enum(["allow", "deny"]),
});

/** A hook's note that it passed the decision on a permission on to its agent. */
export interface PermissionNote {
  readonly permissionId: string;
  readonly decision: "allow" | "deny";
}

/** Reads a line as such a note; null for any other line. It decides nothing: it takes a question off the list. */
export function parsePermissionNote(line: string): PermissionNote | null {
  try {
    const note = noteSchema.safeParse(JSON.parse(line)).data;
    return note === undefined ? null : { permissionId: note.permissionId, decision: note.behavior };
  } catch {
    return null; // half a line, or not a hook's
  }
}

/** What a line that asks for a permission is known by, here and by the hook that wrote it: nobody can show another line under it. */
export function permissionIdOf(line: string): string {
  return sha256(line).slice(0, 32);
}
