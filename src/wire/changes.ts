import { z } from "zod";
import { textSchema } from "./text.ts";

/** A changed file. */
export const changedFileSchema = z.object({
  path: z.string().describe("Relative to `root`. Ends with a slash if it is a nested repository."),
  previousPath: z.string().nullable().describe("Set for renamed files."),
  status: z.enum(["added", "modified", "deleted", "renamed", "untracked"]),
  additions: z.int().nullable().describe("Null for binary files."),
  deletions: z.int().nullable(),
  patch: z
    .string()
    .nullable()
    .describe("Unified diff. Null for binary files, files that are too large, and with `patches=false`."),
  version: z.string().describe("A new value whenever the content of either side changes."),
});

/** What a session's files are compared with. */
export const diffAgainstSchema = z
  .enum(["base", "head", "seen", "turn"])
  .default("base")
  .describe(
    "`head`: only what is not committed. Without a worktree, this is the same as `base`. `seen`: since your account last looked (see `/look`); " +
      "without an earlier look, as `base`. `turn`: since the agent's last turn began; 409 `turn_not_recorded` if the files were not recorded then.",
  );

/** `POST /api/coding/sessions/{id}/look` */
export const lookSchema = z
  .object({
    sessionId: z.string(),
    since: z
      .string()
      .nullable()
      .describe("When you last looked: `against=seen` compares with the files as they were then. Null if it cannot."),
  })
  .meta({ id: "Look" });

/** `GET /api/coding/sessions/{id}/diff` */
export const sessionDiffQuerySchema = z.strictObject({
  against: diffAgainstSchema,
  patches: z
    .enum(["true", "false"])
    .default("true")
    .describe(
      "`true` lists up to 500 files with patches, `false` up to 5,000 without. With more than 500 files, line counts and renames are left out.",
    ),
  path: textSchema(4096).optional().describe("Only this file, with a patch of up to 8 MB."),
  previousPath: textSchema(4096).optional().describe("If the file in `path` was renamed, its old path."),
  ignoreWhitespace: z
    .enum(["true", "false"])
    .default("false")
    .describe(
      "`true` compares lines without their whitespace. A file in which nothing else differs has an empty patch.",
    ),
});

/** `GET /api/coding/sessions/{id}/diff`: changes since the session's base, including uncommitted and untracked files. */
export const sessionDiffSchema = z
  .object({
    root: z.string().describe("Root of the worktree or repository."),
    base: z
      .object({ name: z.string(), commit: z.string().describe("Empty if the repository has no commits.") })
      .describe("For a worktree, its base branch and the commit where it diverged. Otherwise HEAD."),
    files: z.array(changedFileSchema),
    truncated: z.boolean().describe("True if files or patches were left out."),
    lastTurnAt: z
      .string()
      .optional()
      .describe("When the agent's last turn began, if `against=turn` can compare with the files as they were then."),
  })
  .meta({ id: "SessionDiff" });

/** `GET /api/coding/sessions/{id}/close-preview`: what closing the session would do to its worktree. */
export const closePreviewSchema = z
  .object({
    worktree: z
      .object({
        path: z.string(),
        branch: z.string().describe("Kept after the session is closed."),
        files: z.int().describe("Files that would be saved as a rescue: uncommitted and not ignored."),
        ignored: z
          .object({ count: z.int(), bytes: z.int() })
          .describe("Ignored files, which would be deleted permanently."),
        complete: z.boolean().describe("False if the worktree holds more than was counted."),
        keepsBecause: z.string().nullable().describe("Why the worktree would be kept. Null if it would be removed."),
      })
      .nullable()
      .describe("Null if the session has no worktree on disk."),
  })
  .meta({ id: "ClosePreview" });

/** `GET /api/coding/dirs`: the directories of the sessions that the caller can see. */
export const sessionDirsSchema = z
  .object({
    dirs: z
      .array(
        z.object({
          dir: z.string().describe("For worktrees created by the gateway, the repository."),
          sessions: z.int(),
          lastUsedAt: z.string(),
        }),
      )
      .describe("Most recently used first, at most 500."),
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
    repository: z.string().nullable().describe("Null if the directory is not in a Git repository."),
    current: z.string().nullable(),
    branches: z.array(z.string()).describe("Local branches, most recent commit first, at most 500."),
    suggested: z.string().describe("An unused branch name."),
  })
  .meta({ id: "Branches" });

/** `POST /api/agents/{name}`: configures an agent or changes its configuration. */
export const configureAgentInputSchema = z
  .strictObject({
    binary: textSchema(4096)
      .nullable()
      .optional()
      .describe("Absolute path. Null uses PATH. If omitted, the current value is kept."),
    isDefault: z.literal(true).optional(),
  })
  .meta({ id: "ConfigureAgentInput" });

export type ChangedFile = z.infer<typeof changedFileSchema>;
export type DiffAgainst = z.infer<typeof diffAgainstSchema>;
export type LookAtChanges = z.infer<typeof lookSchema>;
export type ClosePreview = z.infer<typeof closePreviewSchema>;
export type SessionDirs = z.infer<typeof sessionDirsSchema>;
export type SessionDiffQuery = z.infer<typeof sessionDiffQuerySchema>;
export type SessionDiff = z.infer<typeof sessionDiffSchema>;
export type CompletedPaths = z.infer<typeof completedPathsSchema>;
export type Branches = z.infer<typeof branchesSchema>;
export type ConfigureAgentInput = z.infer<typeof configureAgentInputSchema>;

/** Uncommitted work of a removed worktree, saved as a commit in its repository. */
export const rescueSchema = z
  .object({
    sessionId: z.string(),
    ref: z.string(),
    commit: z.string(),
    repository: z.string(),
    path: z
      .string()
      .describe("Path of the worktree. It is recreated when the session is resumed or the rescue is restored."),
    branch: z.string(),
    files: z.int().describe("Number of files with uncommitted changes."),
    rescuedAt: z.string(),
  })
  .meta({ id: "Rescue" });

const sessionIdSchema = textSchema(200);

export const rescueListOutputSchema = z.object({ rescues: z.array(rescueSchema).describe("Most recent first.") });

export const rescueInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "RescueInput" });

/** Paths beyond this are counted but not listed. */
export const maxListedPaths = 1_000;

export const rescueShowOutputSchema = rescueSchema
  .extend({
    paths: z.array(z.object({ path: z.string(), change: z.enum(["added", "modified", "deleted"]) })),
    pathCount: z.int().describe("Total in folders you have access to. `paths` has the first 1,000."),
  })
  .meta({ id: "RescueShow" });

export const rescueRestoreInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    force: z.boolean().optional().describe("Overwrite files that have changed since."),
  })
  .meta({ id: "RescueRestoreInput" });

export const rescueRestoreOutputSchema = z
  .object({
    sessionId: z.string(),
    path: z.string(),
    restored: z.array(z.string()).describe("Paths written or removed in folders you have access to, at most 1,000."),
    restoredCount: z.int().describe("Total number of paths written or removed."),
  })
  .meta({ id: "RescueRestore" });

export type Rescue = z.infer<typeof rescueSchema>;
export type RescueListOutput = z.infer<typeof rescueListOutputSchema>;
export type RescueInput = z.infer<typeof rescueInputSchema>;
export type RescueShowOutput = z.infer<typeof rescueShowOutputSchema>;
export type RescueRestoreInput = z.infer<typeof rescueRestoreInputSchema>;
export type RescueRestoreOutput = z.infer<typeof rescueRestoreOutputSchema>;
