import { z } from "zod";
import { permissionModeSchema } from "./coding.ts";
import { textSchema } from "./text.ts";

/** A folder's id in routes, derived from its path. */
export const folderIdSchema = z.string().regex(/^[0-9a-f]{24}$/, { error: "Not the `folderId` of a folder" });

const scriptSchema = textSchema(16_384);
/** The limit of a setup script: one hour. */
export const setupTimeoutSchema = z.int().min(1_000).max(3_600_000);
/** The limit of a teardown script: ten minutes. */
export const teardownTimeoutSchema = z.int().min(1_000).max(600_000);
export const defaultSetupTimeoutMs = 600_000;
export const defaultTeardownTimeoutMs = 60_000;

/** The prefix of new branch names. Git checks the whole name. */
export const branchPrefixSchema = z
  .string()
  .min(1)
  .max(50)
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}._/-]*$/u, { error: "Use letters, digits, `.`, `_`, `-` and `/`" })
  .refine((prefix) => !/\.\.|\/\/|\/\.|\.lock\/|\.\/|@\{/.test(prefix), {
    error: "No branch name can start like this",
  });

export const variableNameSchema = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "Use letters, digits and `_`, and no digit at the start" });

/** The most variables in a profile. */
export const maxProfileVariables = 100;
const variableValueSchema = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes("\0"), { error: "Contains a NUL character" });

/** The common fields of a profile and a proposal. */
const startFields = {
  setup: scriptSchema.nullable().describe("Shell script that runs in a new worktree before its agent starts."),
  setupTimeoutMs: setupTimeoutSchema
    .nullable()
    .describe(`The setup script is ended after this time. Null: ${defaultSetupTimeoutMs}.`),
  teardown: scriptSchema.nullable().describe("Shell script that runs in a worktree before it is removed."),
  teardownTimeoutMs: teardownTimeoutSchema
    .nullable()
    .describe(`The teardown script is ended after this time. Null: ${defaultTeardownTimeoutMs}.`),
  agent: textSchema(100).nullable().describe("Default agent for new sessions."),
  model: textSchema(200).nullable().describe("Default model for new sessions of the profile's agent."),
  branchPrefix: branchPrefixSchema
    .nullable()
    .describe("Prefix of branch names that are chosen automatically. Null: `postern/`."),
};

const profileFields = {
  ...startFields,
  permissionMode: permissionModeSchema
    .nullable()
    .describe("Default permission mode for new sessions, for callers that can use it."),
};

/** `GET /api/folders/{folderId}/profile` */
export const folderProfileSchema = z
  .object({
    folderId: z.string(),
    path: z.string(),
    ...profileFields,
    env: z.array(z.string()).describe("Names of the variables. Their values are never returned."),
    updatedAt: z.string().nullable().describe("Null if the folder has no profile."),
  })
  .meta({ id: "FolderProfile" });

/** `PUT /api/folders/{folderId}/profile`: fields that are left out are cleared, except for the variables. */
export const putFolderProfileInputSchema = z
  .strictObject({
    ...z.object(profileFields).partial().shape,
    env: z
      .record(variableNameSchema, variableValueSchema.nullable())
      .refine((env) => Object.keys(env).length <= maxProfileVariables, {
        error: `At most ${maxProfileVariables} variables`,
      })
      .optional()
      .describe(
        "Variables for agents and scripts. Null keeps the stored value; a variable that is left out is removed. Without `env`, all are kept.",
      ),
  })
  .meta({ id: "PutFolderProfileInput" });

/** The content of `.postern.json`. */
export const proposalContentSchema = z.strictObject(z.object(startFields).partial().shape);

/** A profile that a repository proposes in `.postern.json`. */
export const profileProposalSchema = z
  .object({
    repository: z.string(),
    state: z
      .enum(["proposed", "changed", "approved"])
      .describe("`changed`: different content was approved, and this one is not used."),
    hash: z.string().describe("SHA-256 of the content, hex."),
    content: z.string().describe("The content of the file. Untrusted."),
    error: z.string().nullable().describe("Why the content cannot be used."),
    approved: z.string().nullable().describe("The content that was approved last."),
    proposedAt: z.string().nullable(),
    approvedAt: z.string().nullable(),
  })
  .meta({ id: "ProfileProposal" });

/** `GET /api/folders/{folderId}/proposals` */
export const profileProposalsSchema = z.object({ proposals: z.array(profileProposalSchema) });

/** `POST /api/folders/{folderId}/proposals/approve` */
export const approveProposalInputSchema = z
  .strictObject({
    repository: z.string().min(1).max(4096),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe("Hash of the content that you have read."),
  })
  .meta({ id: "ApproveProposalInput" });

export type FolderProfile = z.infer<typeof folderProfileSchema>;
export type PutFolderProfileInput = z.infer<typeof putFolderProfileInputSchema>;
export type ProposalContent = z.infer<typeof proposalContentSchema>;
export type ProfileProposal = z.infer<typeof profileProposalSchema>;
