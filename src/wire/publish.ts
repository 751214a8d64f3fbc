import { z } from "zod";
import { textSchema } from "./text.ts";

const sessionIdSchema = textSchema(200);
const pathSchema = textSchema(4_096);

/** Most paths or hunks in one request. */
export const maxStagedAtOnce = 5_000;

export const fileChangeSchema = z.enum(["added", "modified", "deleted", "renamed", "type_changed", "untracked"]);

/** A file that differs between HEAD, the index and the work tree. */
export const statusFileSchema = z.object({
  path: z.string().describe("Relative to `root`."),
  previousPath: z.string().nullable().describe("Set for renamed files."),
  staged: fileChangeSchema.nullable().describe("Between HEAD and the index: part of the next commit."),
  unstaged: fileChangeSchema.nullable().describe("Between the index and the work tree."),
  conflict: z.boolean().describe("True if the file has a conflict whose resolution is not staged."),
});

const distance = {
  name: z.string(),
  ahead: z.int().describe("Commits of this branch that the other one does not have."),
  behind: z.int(),
};

/** `GET /api/coding/sessions/{id}/git/status` */
export const gitStatusSchema = z
  .object({
    sessionId: z.string(),
    root: z.string().describe("Root of the worktree or repository."),
    branch: z.string().nullable().describe("Null if no branch is checked out."),
    head: z
      .object({ commit: z.string(), subject: z.string() })
      .nullable()
      .describe("Null if the branch has no commits. The subject is untrusted."),
    upstream: z.object(distance).nullable().describe("The branch that it is pushed to, as last fetched."),
    base: z.object(distance).nullable().describe("The branch that it is updated from."),
    remotes: z.array(z.string()),
    files: z.array(statusFileSchema),
    truncated: z.boolean().describe("True if more than 5,000 files changed."),
    update: z
      .object({
        strategy: z.enum(["merge", "rebase", "other"]).describe("`other`: a cherry-pick, a revert or a bisect."),
        conflicts: z.array(z.string()).describe("Files with conflicts that are not staged."),
        interrupted: z.boolean().describe("True if Git was stopped in the middle: continue it, or abort it."),
        prompt: z.string().nullable().describe("A prompt that asks the agent to resolve the conflicts."),
      })
      .nullable()
      .describe("An update that has not ended. Continue or abort it first."),
    agentWorking: z.boolean().describe("Whether an agent works in this directory now."),
    mayForcePush: z
      .boolean()
      .describe(
        "True if Postern created the branch, and it no longer contains what was pushed: after a rebase or an amend.",
      ),
  })
  .meta({ id: "GitStatus" });

export const gitParamsSchema = z.strictObject({ sessionId: sessionIdSchema });
export const gitStatusInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "GitStatusInput" });

const staging = {
  unstage: z.boolean().optional().describe("Removes the changes from the next commit instead."),
  paths: z
    .array(pathSchema)
    .min(1)
    .max(maxStagedAtOnce)
    .optional()
    .describe("Files of the status. Without paths and hunks: all."),
  hunks: z
    .array(textSchema(100))
    .min(1)
    .max(maxStagedAtOnce)
    .optional()
    .describe("With one path: only these parts of its changes, from `…/git/hunks`."),
};

/** `POST /api/coding/sessions/{id}/git/stage` */
export const stageSchema = z.strictObject(staging).meta({ id: "Stage" });
export const stageInputSchema = z.strictObject({ sessionId: sessionIdSchema, ...staging }).meta({ id: "StageInput" });

const hunksQuery = {
  path: pathSchema,
  staged: z.enum(["true", "false"]).default("false").describe("`true`: what can be unstaged."),
};

/** `GET /api/coding/sessions/{id}/git/hunks` */
export const hunksQuerySchema = z.strictObject(hunksQuery);
export const hunksInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...hunksQuery })
  .meta({ id: "HunksInput" });
export const hunksSchema = z
  .object({
    path: z.string(),
    hunks: z
      .array(
        z.object({
          hunkId: z.string().describe("Changes with the text of the hunk."),
          title: z.string().describe("Its lines, or what else changes, such as the mode."),
          patch: z.string().describe("Untrusted: text of a file."),
        }),
      )
      .describe("Empty for files that can only be staged as a whole, such as binary or untracked ones."),
  })
  .meta({ id: "Hunks" });

const whileWorking = z
  .boolean()
  .optional()
  .describe("True allows this while an agent works in the directory. Otherwise it fails with `agent_working`.");

const committing = {
  message: z
    .string()
    .trim()
    .min(1)
    .max(50_000)
    .refine((text) => !text.includes("\0"), {
      error: "Contains a NUL character",
    })
    .optional()
    .describe("Required, unless `amend` keeps the message of the last commit."),
  amend: z.boolean().optional().describe("Replaces the last commit."),
  all: z.boolean().optional().describe("Stages all changes first, including untracked files."),
  whileWorking,
};

/** `POST /api/coding/sessions/{id}/git/commit` */
export const commitSchema = z.strictObject(committing).meta({ id: "Commit" });
export const commitInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...committing })
  .meta({ id: "CommitInput" });

/** What an action did, and the status after it. */
const done = {
  output: z.string().describe("What Git and hooks printed, at most 16,000 characters. Untrusted."),
  status: gitStatusSchema,
};

export const committedSchema = z.object({ commit: z.string(), ...done }).meta({ id: "Committed" });

const updating = {
  action: z
    .enum(["start", "continue", "abort"])
    .optional()
    .describe("Default: `start`. `continue` after conflicts are staged; `abort` restores the state before the update."),
  strategy: z.enum(["merge", "rebase"]).optional().describe("Default: `merge`."),
  fetch: z.boolean().optional().describe("Default: true. Fetches the base branch first, if it is on a remote."),
  whileWorking,
};

/** `POST /api/coding/sessions/{id}/git/update` */
export const updateSchema = z.strictObject(updating).meta({ id: "Update" });
export const updateInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...updating })
  .meta({ id: "UpdateInput" });
export const updatedSchema = z.object(done).meta({ id: "Updated" });

const pushing = {
  remote: textSchema(200)
    .optional()
    .describe("Default: the one that Git is configured to push this branch to, or `origin`."),
  forceWithLease: z
    .boolean()
    .optional()
    .describe(
      "Replaces what was pushed before. Only if the status says `mayForcePush`, and nothing else was pushed meanwhile.",
    ),
};

/** `POST /api/coding/sessions/{id}/git/push` */
export const pushSchema = z.strictObject(pushing).meta({ id: "Push" });
export const pushInputSchema = z.strictObject({ sessionId: sessionIdSchema, ...pushing }).meta({ id: "PushInput" });
export const pushedSchema = z.object({ remote: z.string(), ...done }).meta({ id: "Pushed" });

export type FileChange = z.infer<typeof fileChangeSchema>;
export type StatusFile = z.infer<typeof statusFileSchema>;
export type GitStatus = z.infer<typeof gitStatusSchema>;
export type StageInput = z.infer<typeof stageInputSchema>;
export type HunksInput = z.infer<typeof hunksInputSchema>;
export type Hunks = z.infer<typeof hunksSchema>;
export type CommitInput = z.infer<typeof commitInputSchema>;
export type Committed = z.infer<typeof committedSchema>;
export type UpdateInput = z.infer<typeof updateInputSchema>;
export type Updated = z.infer<typeof updatedSchema>;
export type PushInput = z.infer<typeof pushInputSchema>;
export type Pushed = z.infer<typeof pushedSchema>;
