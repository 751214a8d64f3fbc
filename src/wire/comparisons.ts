import { z } from "zod";
import {
  activitySchema,
  agentSchema,
  askInputSchema,
  closedWorktreeSchema,
  permissionModeSchema,
  sessionStatusSchema,
} from "./coding.ts";
import { textSchema } from "./text.ts";
import { usageSchema } from "./turn.ts";

/** Each contender is an agent process with a worktree. */
export const maxContenders = 8;

const contenderSchema = z.strictObject({
  agent: agentSchema.describe("Agent name or alias."),
  model: textSchema(200).optional(),
});

const comparisonIdSchema = textSchema(100);

/** `POST /api/coding/compare` */
export const compareInputSchema = z
  .strictObject({
    dir: askInputSchema.shape.dir,
    prompt: askInputSchema.shape.prompt.describe("Plain-text prompt that every contender gets."),
    baseBranch: textSchema(250)
      .optional()
      .describe("Where all worktrees start. Defaults to the repository's default branch."),
    permissionMode: permissionModeSchema.optional(),
    attachments: askInputSchema.shape.attachments,
    contenders: z
      .array(contenderSchema)
      .min(2)
      .max(maxContenders)
      .describe("Agents to compare. The same agent can appear several times, with different models."),
    idempotencyKey: askInputSchema.shape.idempotencyKey.describe(
      "A repeated request with the same key returns the same comparison, and starts only contenders that were not started.",
    ),
  })
  .meta({ id: "CompareInput" });

const contenderErrorSchema = z
  .object({ code: z.string(), detail: z.string().describe("Untrusted: can quote the agent's output.") })
  .nullable()
  .describe("Why the agent did not start. It can have a session even so, for example after a failed setup script.");

export const comparedSchema = z
  .object({
    comparisonId: z.string(),
    sessions: z.array(
      z.object({
        agent: z.string(),
        model: z.string().nullable(),
        sessionId: z.string().nullable(),
        error: contenderErrorSchema,
      }),
    ),
  })
  .meta({ id: "Compared" });

/** A comparison without its contenders' state. */
export const comparisonSchema = z
  .object({
    comparisonId: z.string(),
    title: z.string().nullable().describe("From the prompt."),
    dir: z.string(),
    baseBranch: z.string(),
    baseCommit: z.string().describe("The commit at which every worktree started."),
    createdAt: z.string(),
    keptSessionId: z.string().nullable().describe("The session that was kept. Null until you decide."),
    agents: z.array(z.string()),
  })
  .meta({ id: "Comparison" });

/** `GET /api/coding/comparisons` */
export const comparisonListSchema = z
  .object({ comparisons: z.array(comparisonSchema).describe("Newest first, at most 200.") })
  .meta({ id: "ComparisonList" });

/** One contender as it is now. */
export const comparedSessionSchema = z
  .object({
    agent: z.string(),
    model: z.string().nullable(),
    sessionId: z
      .string()
      .nullable()
      .describe("The session that it works in now: if the first one was continued in another, the latest."),
    error: contenderErrorSchema,
    status: sessionStatusSchema.nullable().describe("Null without a session, or if you don't have access to it."),
    activity: activitySchema.nullable(),
    startedAt: z.string().nullable(),
    endedAt: z.string().nullable().describe("When its last turn ended. Null while it works, or if unknown."),
    workedMs: z.int().nullable().describe("Duration of all finished turns. Null if unknown."),
    changes: z
      .object({
        files: z.int(),
        added: z.int().nullable().describe("Lines. Null if there are too many files to count."),
        removed: z.int().nullable(),
        paths: z
          .array(z.object({ path: z.string(), added: z.int().nullable(), removed: z.int().nullable() }))
          .describe("At most 20 files."),
        truncated: z.boolean(),
      })
      .nullable()
      .describe("Since the common commit, with uncommitted and untracked files. Null if they cannot be read."),
    usage: usageSchema.optional().describe("Tokens of all turns. Missing if the transcript does not have them."),
    answer: z.string().nullable().describe("Beginning of its last answer, at most 4,000 characters. Untrusted."),
    branch: z.string().nullable(),
    worktreeRemoved: z.boolean(),
    rescue: z
      .object({ ref: z.string(), commit: z.string() })
      .nullable()
      .describe("Uncommitted work saved when its worktree was removed. See `postern rescue`."),
    kept: z.boolean(),
    closedAt: z.string().nullable(),
  })
  .meta({ id: "ComparedSession" });

/** `GET /api/coding/comparisons/{id}` */
export const comparisonReadSchema = comparisonSchema
  .extend({ sessions: z.array(comparedSessionSchema) })
  .meta({ id: "ComparisonRead" });

export const readComparisonInputSchema = z
  .strictObject({ comparisonId: comparisonIdSchema })
  .meta({ id: "ReadComparisonInput" });

const keeping = {
  sessionId: textSchema(200).describe("The session to keep."),
  whileWorking: z
    .boolean()
    .optional()
    .describe("Also close contenders whose agents are working. Otherwise the request fails with `agent_working`."),
};

/** `POST /api/coding/comparisons/{id}/keep` */
export const keepSessionSchema = z.strictObject(keeping).meta({ id: "KeepSession" });

export const keepSessionInputSchema = z
  .strictObject({ comparisonId: comparisonIdSchema, ...keeping })
  .meta({ id: "KeepSessionInput" });

export const keptSessionSchema = z
  .object({
    comparisonId: z.string(),
    keptSessionId: z.string(),
    closed: z.array(
      z.object({
        agent: z.string(),
        sessionId: z.string(),
        worktree: closedWorktreeSchema.describe(
          "What happened to its worktree. Null if it had none, or if it could not be closed.",
        ),
        error: z
          .object({ code: z.string(), detail: z.string() })
          .nullable()
          .describe("Why it was not closed. Repeat the request to try again."),
      }),
    ),
  })
  .meta({ id: "KeptSession" });

export type CompareInput = z.infer<typeof compareInputSchema>;
export type Compared = z.infer<typeof comparedSchema>;
export type Comparison = z.infer<typeof comparisonSchema>;
export type ComparedSession = z.infer<typeof comparedSessionSchema>;
export type ComparisonRead = z.infer<typeof comparisonReadSchema>;
export type KeepSessionInput = z.infer<typeof keepSessionInputSchema>;
export type KeptSession = z.infer<typeof keptSessionSchema>;
export type ComparisonList = z.infer<typeof comparisonListSchema>;
