import { z } from "zod";

/** Text that every store and every command line can hold: not empty, without a NUL, and no longer than this where a limit is given. */
export function textSchema(maxLength?: number) {
  const text = z.string().min(1);
  const bounded = maxLength === undefined ? text : text.max(maxLength);
  return bounded.refine((given) => !given.includes("\0"), { error: "Holds a NUL character" });
}
