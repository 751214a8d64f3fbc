import { z } from "zod";
import { textSchema } from "./text.ts";

/** Work that a removed worktree would have taken with it, kept as a commit in its repository. */
export const rescueSchema = z
  .object({
    sessionId: z.string(),
    ref: z.string(),
    commit: z.string(),
    repository: z.string(),
    path: z
      .string()
      .describe("Where the worktree stood, and stands again once the session goes on or the rescue is restored."),
    branch: z.string(),
    files: z.int().describe("Paths that differed from what was committed."),
    rescuedAt: z.string(),
  })
  .meta({ id: "Rescue" });

const sessionIdSchema = textSchema(200);

export const rescueListOutputSchema = z.object({ rescues: z.array(rescueSchema).describe("Latest first.") });

export const rescueInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "RescueInput" });

/** More are counted, not listed. */
export const maxListedPaths = 1_000;

export const rescueShowOutputSchema = rescueSchema
  .extend({
    paths: z.array(z.object({ path: z.string(), change: z.enum(["added", "modified", "deleted"]) })),
    pathCount: z.int().describe("Those in folders that the caller can see; `paths` has the first 1,000."),
  })
  .meta({ id: "RescueShow" });

export const rescueRestoreInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    force: z.boolean().optional().describe("Overwrite files that were changed since."),
  })
  .meta({ id: "RescueRestoreInput" });

export const rescueRestoreOutputSchema = z
  .object({
    sessionId: z.string(),
    path: z.string(),
    restored: z
      .array(z.string())
      .describe("Paths that were written or removed, in folders that the caller can see; the first 1,000 of them."),
    restoredCount: z.int().describe("All paths that were written or removed."),
  })
  .meta({ id: "RescueRestore" });

export type Rescue = z.infer<typeof rescueSchema>;
export type RescueListOutput = z.infer<typeof rescueListOutputSchema>;
export type RescueInput = z.infer<typeof rescueInputSchema>;
export type RescueShowOutput = z.infer<typeof rescueShowOutputSchema>;
export type RescueRestoreInput = z.infer<typeof rescueRestoreInputSchema>;
export type RescueRestoreOutput = z.infer<typeof rescueRestoreOutputSchema>;
