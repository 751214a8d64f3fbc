import { z } from "zod";

/** The largest attachment. */
export const maxAttachmentBytes = 20 * 1024 * 1024;
/** All attachments of one session. */
export const maxSessionAttachmentBytes = 100 * 1024 * 1024;
/** Attachments of one prompt. */
export const maxPromptAttachments = 20;

/** The image types that Postern shows and serves as images. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

export const attachmentIdSchema = z.uuid();

/** A file for a prompt. */
export const attachmentSchema = z
  .object({
    attachmentId: z.string(),
    name: z.string(),
    mediaType: z.enum([...imageTypes, "application/pdf", "text/plain"]).describe("Detected from the content."),
    sizeBytes: z.int(),
    sha256: z.string(),
  })
  .meta({ id: "Attachment" });

export const attachmentQuerySchema = z.strictObject({
  sessionId: z.string().min(1).max(200).optional().describe("The session that the file is for."),
});

/** @see attachmentSchema */
export type Attachment = z.infer<typeof attachmentSchema>;
