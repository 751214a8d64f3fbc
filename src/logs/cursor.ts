import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import type { LogsErrorCode } from "./errors.ts";

/** A text in a cursor: of the caller's making, perhaps, and PostgreSQL takes no NUL. */
export const cursorText = z.string().refine((text) => !text.includes("\0"));

/** Where a page ended, for the next one. */
export function cursorOf(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/**
 * What {@link cursorOf} was given.
 * @param schema what a store can take without an error
 * @throws PosternError `invalid_request` when it is no cursor of ours
 */
export function readCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  const wrong = new PosternError<LogsErrorCode>("invalid_request", "This cursor is not one that a page gave.");
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    throw wrong; // not JSON: nothing of ours
  }
  const read = schema.safeParse(parts);
  if (!read.success) throw wrong;
  return read.data;
}
