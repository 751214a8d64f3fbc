import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import type { LogsErrorCode } from "./errors.ts";

const cursorSchema = z.tuple([z.int()], z.string());

/** Where a page ended, for the next one. */
export function cursorOf(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/**
 * What {@link cursorOf} was given: a number, then texts.
 * @throws PosternError `invalid_request` when it is no cursor of ours
 */
export function readCursor(cursor: string, texts: number): readonly [number, ...string[]] {
  const wrong = new PosternError<LogsErrorCode>("invalid_request", "This cursor is not one that a page gave.");
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    throw wrong; // not JSON: nothing of ours
  }
  const read = cursorSchema.safeParse(parts);
  if (!read.success || read.data.length !== texts + 1) throw wrong;
  return read.data;
}
