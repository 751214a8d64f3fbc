import { z } from "zod";
import { imageTypes } from "./attachments.ts";

/** An image in the result of a tool call, of a type that browsers can show safely. */
const resultImageSchema = z.object({
  mediaType: z.enum(imageTypes).describe("Detected from the content."),
  sizeBytes: z.int(),
});

/** The result of a tool call. Long text is cut, and `truncated` is then true. */
export const toolResultSchema = z.object({
  ok: z.boolean(),
  text: z.string(),
  truncated: z.boolean(),
  images: z
    .array(resultImageSchema)
    .optional()
    .describe("Images in the result. Read one with `GET /api/coding/sessions/{sessionId}/turns/{turn}/image`."),
});

/** How many images of one result are shown. The others are left out. */
export const maxResultImages = 20;

export const turnImageQuerySchema = z.strictObject({
  call: z.string().min(1).max(200).describe("The `id` of the tool call."),
  image: z.coerce
    .number()
    .int()
    .min(0)
    .max(maxResultImages - 1)
    .default(0)
    .describe("The position in the result's `images`."),
});

/** One piece of a turn, in the order the agent wrote it. */
export const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("thinking"), text: z.string() }),
  z.object({
    type: z.literal("tool_call"),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    result: toolResultSchema.nullable(),
  }),
]);

/** An image in a prompt, of a type that browsers can show safely. */
export const turnImageSchema = z.object({
  mediaType: z.enum(imageTypes).describe("Detected from the content."),
  data: z.string().nullable().describe("Base64-encoded. Null if the image is too large to return."),
});

/** A file that was sent with a prompt. */
export const turnAttachmentSchema = z.object({
  attachmentId: z.string(),
  name: z.string(),
  mediaType: z.string().nullable().describe("Null if the file was deleted."),
  sizeBytes: z.int().nullable().describe("Null if the file was deleted."),
});

/** Tokens of a whole turn. Each model message counts once. */
export const usageSchema = z.object({ inputTokens: z.int(), outputTokens: z.int(), cacheReadTokens: z.int() });

/**
 * One prompt of the user, or everything that the agent did until the next prompt.
 * `index` starts at 0 and never changes. The last turn is returned again when it has grown.
 */
export const turnSchema = z
  .object({
    index: z.int().min(0),
    role: z.enum(["user", "assistant"]),
    at: z.string().nullable().describe("Start time, ISO 8601 UTC."),
    endedAt: z.string().nullable().describe("Time of the last transcript line, ISO 8601 UTC."),
    text: z.string().describe("Text of all text blocks. Untrusted transcript content."),
    blocks: z.array(blockSchema),
    model: z.string().nullable(),
    usage: usageSchema.nullable(),
    images: z.array(turnImageSchema).optional().describe("Images in the prompt. Returned if `images` is true."),
    attachments: z.array(turnAttachmentSchema).optional().describe("Files that were sent with the prompt."),
    interrupted: z.boolean().optional().describe("True if the user stopped the turn."),
  })
  .meta({ id: "Turn" });

/** @see blockSchema */
export type Block = z.infer<typeof blockSchema>;
/** @see toolResultSchema */
export type ToolResult = z.infer<typeof toolResultSchema>;
/** @see resultImageSchema */
export type ResultImage = z.infer<typeof resultImageSchema>;
/** @see turnImageQuerySchema */
export type TurnImageQuery = z.infer<typeof turnImageQuerySchema>;
/** @see turnImageSchema */
export type TurnImage = z.infer<typeof turnImageSchema>;
/** @see turnAttachmentSchema */
export type TurnAttachment = z.infer<typeof turnAttachmentSchema>;
/** @see usageSchema */
export type Usage = z.infer<typeof usageSchema>;
/** @see turnSchema */
export type Turn = z.infer<typeof turnSchema>;
