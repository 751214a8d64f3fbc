import { z } from "zod";
import { textSchema } from "./text.ts";

/**
 * Permissions of a token. `coding:drive` covers everything that runs without the agent asking first, and `coding:publish` commits and
 * pushes, which runs hooks. Neither is ever a default.
 */
export const scopes = [
  "coding:read",
  "coding:write",
  "coding:drive",
  "coding:publish",
  "logs:read",
  "logs:write",
  "admin",
] as const;
export const scopeSchema = z.enum(scopes);

/** Scopes that apps can be granted: all except `admin`, which is for personal tokens and signed-in browsers. */
export const appScopes = [
  "coding:read",
  "coding:write",
  "coding:drive",
  "coding:publish",
  "logs:read",
  "logs:write",
] as const;

/** Scopes that a person must select explicitly: their holder can run programs as the user. */
export const graveScopes = ["coding:drive", "coding:publish"] as const satisfies readonly (typeof appScopes)[number][];

/** Whether a scope is one of {@link graveScopes}. */
export function isGraveScope(scope: Scope): boolean {
  return graveScopes.some((grave) => grave === scope);
}

/** The scopes for an app that requests none. */
export const defaultAppScopes = [
  "coding:read",
  "coding:write",
] as const satisfies readonly (typeof appScopes)[number][];

/** What a registered folder can be used for. */
export const folderScopes = ["files", "coding", "exec"] as const;
export const folderScopeSchema = z.enum(folderScopes);

/** The template for the directory name of a folder's worktrees. A name is one path component, and always contains the branch. */
export const worktreeNameSchema = z
  .string()
  .max(100)
  .regex(/^(?![.-])(?:\{branch\}|\{repository\}|[^{}/\\\p{C}])+$/u, {
    error:
      "Use `{branch}`, `{repository}` and plain characters. `/` and `\\` are not allowed, nor a leading `.` or `-`",
  })
  .refine((template) => template.includes("{branch}"), { error: "`{branch}` is missing" });
export const defaultWorktreeName = "{branch}";

export const folderSchema = z
  .object({
    folderId: z.string(),
    path: z.string(),
    scopes: z.array(folderScopeSchema),
    worktreeName: z.string().describe("Template for worktree directory names in this folder's repositories."),
    createdAt: z.string(),
  })
  .meta({ id: "Folder" });

export const tokenSchema = z
  .object({
    tokenId: z.string(),
    name: z.string(),
    scopes: z.array(scopeSchema),
    folders: z.array(z.string()).nullable().describe("Limited to these folders. Null means no limit."),
    createdAt: z.string(),
    expiresAt: z.string().nullable(),
    lastUsedAt: z.string().nullable(),
  })
  .meta({ id: "Token" });

/** `POST /api/folders` */
export const addFolderInputSchema = z
  .strictObject({
    path: z.string().min(1).max(4096).describe("Absolute path of an existing directory."),
    scopes: z.array(folderScopeSchema).min(1),
    worktreeName: worktreeNameSchema
      .optional()
      .describe(
        "Template for the directory names of worktrees, with `{branch}` and `{repository}`. If omitted, it is not changed.",
      ),
  })
  .meta({ id: "AddFolderInput" });

/** `POST /api/tokens` */
export const createTokenInputSchema = z
  .strictObject({
    name: textSchema(100),
    scopes: z.array(scopeSchema).min(1),
    expiresAt: z.iso.datetime({ offset: true }).nullable().optional().describe("Null or omitted: never expires."),
    folders: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(100)
      .nullable()
      .optional()
      .describe("Limits the token to these directories."),
  })
  .meta({ id: "CreateTokenInput" });

/** The response, which is the only one that contains the token itself. */
export const createdTokenSchema = tokenSchema
  .extend({ token: z.string().describe("Shown only once. Store it securely.") })
  .meta({ id: "CreatedToken" });

export type Scope = z.infer<typeof scopeSchema>;
export type FolderScope = z.infer<typeof folderScopeSchema>;
export type Folder = z.infer<typeof folderSchema>;
export type Token = z.infer<typeof tokenSchema>;
export type CreatedToken = z.infer<typeof createdTokenSchema>;

/** Describes a scope to the person who grants it. */
interface ScopeWords {
  /** Follows “It can …”. */
  readonly short: string;
  /** One or two sentences, including the risk. */
  readonly sentence: string;
}

/** Shown on every page that grants a scope or lists granted scopes. */
export const scopeWords: Readonly<Record<Scope, ScopeWords>> = {
  "coding:read": { short: "read sessions", sentence: "List, search and read sessions; watch their terminals." },
  "coding:write": {
    short: "prompt agents",
    sentence: "Start agents that ask before they act; prompt, interrupt and close sessions.",
  },
  "coding:drive": {
    short: "drive agents",
    sentence:
      "Type into terminals, answer permission requests, start agents that do not ask. Allows running any command as you.",
  },
  "coding:publish": {
    short: "publish changes",
    sentence: "Commit, update and push the branches of sessions, with your Git configuration, hooks and logins.",
  },
  "logs:read": {
    short: "read memory",
    sentence: "Search and read memory: what was asked, decided, changed and run in your sessions, and your notes.",
  },
  "logs:write": {
    short: "write memory",
    sentence: "Add entries to memory, and permanently delete entries and the facts extracted from them.",
  },
  admin: {
    short: "administer",
    sentence: "Manage folders, agents, tokens and accounts: everything on these pages.",
  },
};
