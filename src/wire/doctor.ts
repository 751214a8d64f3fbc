import { z } from "zod";

/** The result of one check of `postern doctor`. */
export const findingSchema = z.object({
  /** What was checked, such as `git` or `agent codex`. */
  check: z.string(),
  /** `failure`: something does not work. `warning`: it works, but needs attention. */
  level: z.enum(["ok", "warning", "failure"]),
  /** One sentence. */
  message: z.string(),
  /** The command that fixes it; null if nothing is wrong, or no command can fix it. */
  fix: z.string().nullable(),
});

/** See {@link findingSchema}. */
export type Finding = z.infer<typeof findingSchema>;
