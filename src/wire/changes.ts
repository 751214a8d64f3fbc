import { z } from "zod";
import { textSchema } from "./text.ts";

/** A file that differs. */
export const changedFileSchema = z.object({
  path: z.string().describe("From `root`; ends with a slash where it is a repository of its own."),
  previousPath: z.string().nullable().describe("Of a renamed file."),
  status: z.enum(["added", "modified", "deleted", "renamed", "untracked"]),
  additions: z.int().nullable().describe("Null of a binary file."),
  deletions: z.int().nullable(),
  patch: z.string().nullable().describe("Unified diff; null of a binary file, and of one that is too large to show."),
});

/** `GET /api/coding/sessions/{id}/diff`: the session's directory against where it began, uncommitted and untracked files included. */
export const sessionDiffSchema = z
  .object({
    root: z.string().describe("The worktree, or the repository's."),
    base: z
      .object({ name: z.string(), commit: z.string().describe("Empty before the first commit.") })
      .describe("The base branch of a worktree, and where it was left; else HEAD."),
    files: z.array(changedFileSchema),
    truncated: z.boolean().describe("More files differ than are listed, or more text than is shown."),
  })
  .meta({ id: "SessionDiff" });

/** `GET /api/coding/sessions/{id}/close-preview`: what closing the session would do to its worktree. */
export const closePreviewSchema = z
  .object({
    worktree: z
      .object({
        path: z.string(),
        branch: z.string().describe("It is kept."),
        files: z.int().describe("Files that would be rescued: changed since the last commit, and not ignored."),
        ignored: z.object({ count: z.int(), bytes: z.int() }).describe("Ignored files, which would be gone for good."),
        complete: z.boolean().describe("False: there is more in it than was counted."),
        keepsBecause: z.string().nullable().describe("Why it would stay where it is; null when it would be removed."),
      })
      .nullable()
      .describe("Null: the session has no worktree that stands."),
  })
  .meta({ id: "ClosePreview" });

/** `GET /api/coding/dirs`: the directories of the sessions that the caller may see. */
export const sessionDirsSchema = z
  .object({
    dirs: z
      .array(
        z.object({
          dir: z.string().describe("A worktree that the gateway made counts as its repository."),
          sessions: z.int(),
          lastUsedAt: z.string(),
        }),
      )
      .describe("The most recently used first; at most 500."),
    truncated: z.boolean(),
  })
  .meta({ id: "SessionDirs" });

/** `GET /api/folders/complete?path=` */
export const completePathQuerySchema = z.strictObject({ path: textSchema(4096) });

export const completedPathsSchema = z
  .object({
    directories: z.array(z.object({ path: z.string(), isRepository: z.boolean() })),
    truncated: z.boolean(),
  })
  .meta({ id: "CompletedPaths" });

/** `GET /api/coding/branches?dir=` */
export const branchesQuerySchema = z.strictObject({ dir: textSchema(4096) });

export const branchesSchema = z
  .object({
    repository: z.string().nullable().describe("Null: the directory is in no repository, and can have no worktree."),
    current: z.string().nullable(),
    branches: z.array(z.string()).describe("Local ones, the most recently committed first; at most 500."),
    suggested: z.string().describe("A name that is free."),
  })
  .meta({ id: "Branches" });

/** `POST /api/agents/{name}`: configures an agent, or changes what is configured. */
export const configureAgentInputSchema = z
  .strictObject({
    binary: textSchema(4096)
      .nullable()
      .optional()
      .describe("Absolute path; null is looked up on PATH. Left out, what is configured stays."),
    isDefault: z.literal(true).optional(),
  })
  .meta({ id: "ConfigureAgentInput" });

export type ChangedFile = z.infer<typeof changedFileSchema>;
export type ClosePreview = z.infer<typeof closePreviewSchema>;
export type SessionDirs = z.infer<typeof sessionDirsSchema>;
export type SessionDiff = z.infer<typeof sessionDiffSchema>;
export type CompletedPaths = z.infer<typeof completedPathsSchema>;
export type Branches = z.infer<typeof branchesSchema>;
export type ConfigureAgentInput = z.infer<typeof configureAgentInputSchema>;

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
