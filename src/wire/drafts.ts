import { z } from "zod";

/** The longest draft, in characters. A longer draft is kept only in its browser. */
export const maxDraftLength = 200_000;

const versionSchema = z.int().min(0);

/** `GET …/draft`: text that the account has typed and not sent. */
export const draftSchema = z
  .object({
    text: z.string().describe("Empty if there is no draft."),
    version: versionSchema.describe("Changes whenever the draft changes. 0 if there is no draft."),
    updatedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "Draft" });

/** `PUT …/draft` */
export const saveDraftInputSchema = z
  .strictObject({
    text: z
      .string()
      .max(maxDraftLength)
      .refine((text) => !text.includes("\0"), { error: "Contains a NUL character" })
      .describe("Empty text deletes the draft."),
    version: versionSchema.describe("Version of the draft that this text replaces; 0 for none."),
  })
  .meta({ id: "SaveDraftInput" });

export const savedDraftSchema = draftSchema
  .extend({
    saved: z
      .boolean()
      .describe(
        "False if the draft has changed since: nothing was saved, and the response contains the current draft.",
      ),
  })
  .meta({ id: "SavedDraft" });

export type Draft = z.infer<typeof draftSchema>;
export type SaveDraftInput = z.infer<typeof saveDraftInputSchema>;
export type SavedDraft = z.infer<typeof savedDraftSchema>;
