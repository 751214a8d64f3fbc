import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import type { LogsErrorCode } from "./errors.ts";

/** Text in a cursor, which a caller may have made up. PostgreSQL rejects NUL. */
export const cursorText = z.string().refine((text) => !text.includes("\0"));

/** Encodes the end of a page. */
function cursorOf(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Decodes a cursor of {@link cursorOf}. @throws PosternError `invalid_request` */
export function readCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  const wrong = new PosternError<LogsErrorCode>(
    "invalid_request",
    "Unknown cursor. Use the `nextCursor` of an earlier page, or omit it to start over.",
  );
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    throw wrong; // not JSON
  }
  const read = schema.safeParse(parts);
  if (!read.success) throw wrong;
  return read.data;
}

/** Splits rows, queried with one more than `limit`, into a page and the cursor of the next one. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (last: Row) => readonly (string | number)[],
): { readonly page: readonly Row[]; readonly nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, nextCursor: rows.length > limit && last !== undefined ? cursorOf(placeOf(last)) : null };
}
