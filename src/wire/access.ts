import { z } from "zod";

/** What a token may do. `coding:drive` is everything that acts without the agent asking; it is never a default. */
export const scopes = ["coding:read", "coding:write", "coding:drive", "logs:read", "logs:write", "admin"] as const;
export const scopeSchema = z.enum(scopes);

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

export type Scope = z.infer<typeof scopeSchema>;
export type FolderScope = z.infer<typeof folderScopeSchema>;
export type Folder = z.infer<typeof folderSchema>;
export type Token = z.infer<typeof tokenSchema>;
