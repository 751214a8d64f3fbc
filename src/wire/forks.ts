import { z } from "zod";
import { askInputSchema, askOutputSchema, dirSchema } from "./coding.ts";
import { textSchema } from "./text.ts";

const { agent, model, worktree, permissionMode, waitMs } = askInputSchema.shape;

const forking = {
  turn: z
    .int()
    .min(0)
    .optional()
    .describe("Index of the last turn that the new session gets. Defaults to the session's last turn."),
  agent: agent.describe("The agent that continues the work. Defaults to the session's agent."),
  dir: dirSchema.optional().describe("Defaults to the session's directory."),
  worktree: worktree.describe(
    "True or an object: the new session works in a new worktree, by default from the session's current branch. It also gets the " +
      "session's changes as a patch.",
  ),
  prompt: askInputSchema.shape.prompt
    .optional()
    .describe("What the new session should do. Without it, its agent only summarizes where the work stands."),
  model,
  permissionMode,
  waitMs,
};

/** `POST /api/coding/sessions/{id}/fork` */
export const forkSessionSchema = z.strictObject(forking).meta({ id: "ForkSession" });

export const forkSessionInputSchema = z
  .strictObject({ sessionId: textSchema(200), ...forking })
  .meta({ id: "ForkSessionInput" });

export const forkSessionOutputSchema = askOutputSchema
  .extend({
    forkedFrom: z.object({
      sessionId: z.string(),
      turn: z.int().describe("The last turn that the new session got."),
      leftOut: z.int().describe("Older turns that did not fit into the file."),
      patch: z.boolean().describe("True if the session's changes were sent as a patch."),
    }),
  })
  .meta({ id: "ForkSessionOutput" });

export type ForkSessionInput = z.infer<typeof forkSessionInputSchema>;
export type ForkSessionOutput = z.infer<typeof forkSessionOutputSchema>;
