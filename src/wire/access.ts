import { z } from "zod";
import { textSchema } from "./text.ts";

/** What a token may do. `coding:drive` is everything that acts without the agent asking; it is never a default. */
export const scopes = ["coding:read", "coding:write", "coding:drive", "logs:read", "logs:write", "admin"] as const;
export const scopeSchema = z.enum(scopes);

/** What an app may be allowed: all but `admin`, which is for personal tokens and signed-in browsers only. */
export const appScopes = ["coding:read", "coding:write", "coding:drive", "logs:read", "logs:write"] as const;

/** What an app asks for when it does not say. */
export const defaultAppScopes = [
  "coding:read",
  "coding:write",
] as const satisfies readonly (typeof appScopes)[number][];

/** What a registered folder may be used for (the seed's three). */
export const folderScopes = ["files", "coding", "exec"] as const;
export const folderScopeSchema = z.enum(folderScopes);

export const folderSchema = z
  .object({ path: z.string(), scopes: z.array(folderScopeSchema), createdAt: z.string() })
  .meta({ id: "Folder" });

export const tokenSchema = z
  .object({
    tokenId: z.string(),
    name: z.string(),
    scopes: z.array(scopeSchema),
    folders: z.array(z.string()).nullable().describe("Limited to these folders; null is no limit."),
    createdAt: z.string(),
    expiresAt: z.string().nullable(),
    lastUsedAt: z.string().nullable(),
  })
  .meta({ id: "Token" });

/** `POST /api/folders` */
export const addFolderInputSchema = z
  .strictObject({
    path: z.string().min(1).max(4096).describe("Absolute path of a directory that exists."),
    scopes: z.array(folderScopeSchema).min(1),
  })
  .meta({ id: "AddFolderInput" });

/** `POST /api/tokens` */
export const createTokenInputSchema = z
  .strictObject({
    name: textSchema(100),
    scopes: z.array(scopeSchema).min(1),
    expiresAt: z.iso.datetime({ offset: true }).nullable().optional().describe("Null or left out never expires."),
    folders: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(100)
      .nullable()
      .optional()
      .describe("Limits it to these directories."),
  })
  .meta({ id: "CreateTokenInput" });

/** The answer to it: the one time that the token itself is shown. */
export const createdTokenSchema = tokenSchema
  .extend({ token: z.string().describe("Keep it: it is shown this one time.") })
  .meta({ id: "CreatedToken" });

export type Scope = z.infer<typeof scopeSchema>;
export type FolderScope = z.infer<typeof folderScopeSchema>;
export type Folder = z.infer<typeof folderSchema>;
export type Token = z.infer<typeof tokenSchema>;
export type CreatedToken = z.infer<typeof createdTokenSchema>;

/** What a scope means to a person who gives it. */
interface ScopeWords {
  /** After “It may …”. */
  readonly short: string;
  /** A sentence or two, with what there is to fear. */
  readonly sentence: string;
}

/** One wording on every page that gives a scope, or shows that it was given. */
export const scopeWords: Readonly<Record<Scope, ScopeWords>> = {
  "coding:read": { short: "read sessions", sentence: "List, search and read sessions; watch their terminals." },
  "coding:write": {
    short: "prompt agents",
    sentence: "Start agents that ask before they act; prompt, interrupt and close them.",
  },
  "coding:drive": {
    short: "drive agents",
    sentence:
      "Type into terminals, answer permissions, start agents that do not ask. Whoever holds it can run commands as you.",
  },
  "logs:read": {
    short: "read what is remembered",
    sentence: "Search and read the memory: what was asked, decided, changed and run in your sessions, and your notes.",
  },
  "logs:write": {
    short: "remember and delete",
    sentence: "Add to the memory, and delete from it for good, with everything that was drawn from it.",
  },
  admin: {
    short: "administer",
    sentence: "Folders, agents, tokens and accounts: everything that is on these pages.",
  },
};
