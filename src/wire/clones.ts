import { z } from "zod";
import { folderSchema, folderScopeSchema } from "./access.ts";
import { textSchema } from "./text.ts";

/** `POST /api/folders/clones` */
export const cloneInputSchema = z
  .strictObject({
    address: textSchema(2_000).describe(
      "`https:`, `http:` or `ssh:` URL, `user@host:path`, or the path of a repository in a registered folder. Credentials in it are used " +
        "for the clone and not stored.",
    ),
    parent: z.string().min(1).max(4096).describe("A directory in a registered folder."),
    name: z
      .string()
      .max(200)
      .regex(/^(?![.-])[^/\\\p{C}]+$/u, { error: "Use one name without `/`, and no `.` or `-` at the start" })
      .optional()
      .describe("Name of the new directory. Defaults to the last part of the address."),
    scopes: z
      .array(folderScopeSchema)
      .min(1)
      .optional()
      .describe("Scopes of the new folder. Defaults to those of the folder that holds the parent."),
  })
  .meta({ id: "CloneInput" });

/** A repository that is being cloned, or was. */
export const cloneSchema = z
  .object({
    cloneId: z.string(),
    address: z.string().describe("Without credentials."),
    path: z.string(),
    state: z.enum(["running", "done", "failed", "cancelled"]),
    phase: z.string().nullable().describe("What Git is doing. Untrusted."),
    percent: z.int().nullable().describe("Progress of this phase."),
    error: z.string().nullable().describe("Why it failed. Untrusted."),
    folder: folderSchema.nullable().describe("The registered folder, when it is done."),
    startedAt: z.string(),
    endedAt: z.string().nullable(),
  })
  .meta({ id: "Clone" });

export const clonesSchema = z.object({ clones: z.array(cloneSchema) });

export type CloneInput = z.infer<typeof cloneInputSchema>;
export type Clone = z.infer<typeof cloneSchema>;
