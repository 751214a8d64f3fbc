import { z } from "zod";
import { imageTypes } from "./attachments.ts";
import { diffAgainstSchema } from "./changes.ts";
import { commentSideSchema } from "./reviews.ts";
import { textSchema } from "./text.ts";

/** `GET /api/coding/sessions/{id}/file`: a file on one side of the session's diff. */
export const reviewedFileQuerySchema = z.strictObject({
  path: textSchema(4096).describe("As in the diff. For the old side of a renamed file, its `previousPath`."),
  side: commentSideSchema.default("new").describe("`new`: the file as it is now. `old`: as in the diff's base."),
  against: diffAgainstSchema,
});

export const reviewedFileSchema = z
  .object({
    path: z.string(),
    side: commentSideSchema,
    sizeBytes: z.int().nullable().describe("Null if the file is not on this side."),
    imageType: z.enum(imageTypes).nullable().describe("Detected from the content. Read the image from `/file/image`."),
    text: z.string().nullable().describe("Null if the file is not text, or is larger than 8 MB. Untrusted."),
  })
  .meta({ id: "ReviewedFile" });

export type ReviewedFileQuery = z.infer<typeof reviewedFileQuerySchema>;
export type ReviewedFile = z.infer<typeof reviewedFileSchema>;
