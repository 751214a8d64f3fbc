import { z } from "zod";

/** Non-empty text without NUL characters, so that it fits in every database and on every command line. */
export function textSchema(maxLength?: number) {
  const text = z.string().min(1);
  const bounded = maxLength === undefined ? text : text.max(maxLength);
  return bounded.refine((given) => !given.includes("\0"), { error: "Contains a NUL character" });
}
