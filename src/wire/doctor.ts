import { z } from "zod";

/** One thing that `postern doctor` looked at. */
export const findingSchema = z.object({
  /** What was looked at, such as `git` or `agent codex`. */
  check: z.string(),
  /** `failure`: something does not work. `warning`: it works, and not as one would want. */
  level: z.enum(["ok", "warning", "failure"]),
  /** One sentence. */
  message: z.string(),
  /** The command that mends it; null where nothing is to mend, or no command can. */
  fix: z.string().nullable(),
});

/** See {@link findingSchema}. */
export type Finding = z.infer<typeof findingSchema>;
