import { z } from "zod";
import { textSchema } from "./text.ts";

/** A folder's setup or teardown script, in its own terminal. */
export const scriptRunSchema = z
  .object({
    scriptId: z.string().describe("Attach to it like a session, while the script runs or afterwards."),
    kind: z.enum(["setup", "teardown"]),
    sessionId: z.string().describe("The session, which may not have started yet."),
    dir: z.string().describe("The worktree."),
    state: z
      .enum(["running", "succeeded", "failed", "timed_out"])
      .describe("`timed_out`: ended at the profile's limit, with everything that it started."),
    exitCode: z.int().nullable().describe("Null while running, or after it was ended."),
    startedAt: z.string(),
    endedAt: z.string().nullable(),
  })
  .meta({ id: "ScriptRun" });

/** `GET /api/coding/scripts` */
export const scriptRunsQuerySchema = z.strictObject({ sessionId: textSchema(200).optional() });
export const scriptRunsSchema = z.object({ scripts: z.array(scriptRunSchema) });

export type ScriptRun = z.infer<typeof scriptRunSchema>;
