import { z } from "zod";

/** Formats of an exported conversation. */
export const exportFormatSchema = z.enum(["markdown", "json", "html"]);

/** `GET /api/coding/sessions/{id}/export` */
export const exportQuerySchema = z.strictObject({
  format: exportFormatSchema
    .default("markdown")
    .describe("`html` is one file without scripts and without external files."),
});

/** Shorter links would expire before they are read. */
const minShareSeconds = 60;
/** A link that is forgotten expires after 90 days at the latest. */
const maxShareSeconds = 90 * 86_400;

/** `POST /api/coding/sessions/{id}/share` */
export const shareInputSchema = z
  .strictObject({
    expiresIn: z
      .int()
      .min(minShareSeconds)
      .max(maxShareSeconds)
      .describe("Seconds until the link expires: one minute to 90 days."),
  })
  .meta({ id: "ShareInput" });

/** A link to one session, without its address. */
export const shareSchema = z
  .object({
    shareId: z.string(),
    sessionId: z.string(),
    createdAt: z.string(),
    expiresAt: z.string(),
    firstOpenedAt: z.string().nullable(),
    opens: z.int().describe("How often the page was opened."),
  })
  .meta({ id: "Share" });

/** The response, which is the only one that contains the link itself. */
export const createdShareSchema = shareSchema
  .extend({ url: z.string().describe("Shown only once. Anyone with it can read the conversation until it expires.") })
  .meta({ id: "CreatedShare" });

/** `GET /api/coding/sessions/{id}/shares` */
export const shareListSchema = z
  .object({ shares: z.array(shareSchema).describe("Active links, newest first.") })
  .meta({ id: "ShareList" });

export type ExportFormat = z.infer<typeof exportFormatSchema>;
export type ShareInput = z.infer<typeof shareInputSchema>;
export type Share = z.infer<typeof shareSchema>;
export type CreatedShare = z.infer<typeof createdShareSchema>;
export type ShareList = z.infer<typeof shareListSchema>;
