import { z } from "zod";

/** What came back from a tool call. `text` is cut when it is long, and then `truncated` is true. */
export const toolResultSchema = z.object({ ok: z.boolean(), text: z.string(), truncated: z.boolean() });

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

/** A picture in a prompt, of a type that a browser may show. */
export const turnImageSchema = z.object({
  mediaType: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]).describe("By its content."),
  data: z.string().nullable().describe("Base64; null when it is too large for an answer."),
});

/** Tokens of a whole turn, each message of the model counted once. */
export const usageSchema = z.object({ inputTokens: z.int(), outputTokens: z.int(), cacheReadTokens: z.int() });

/**
 * Everything that the user said in one prompt, or everything that the agent did until the next prompt.
 * `index` counts from 0 and never changes while the transcript grows; the last turn is returned again when it has grown.
 */
export const turnSchema = z
  .object({
    index: z.int().min(0),
    role: z.enum(["user", "assistant"]),
    at: z.string().nullable().describe("When it began, ISO 8601 UTC."),
    endedAt: z.string().nullable().describe("When its last line was written, ISO 8601 UTC."),
    text: z.string().describe("The text blocks, joined. Untrusted: it comes from a transcript."),
    blocks: z.array(blockSchema),
    model: z.string().nullable(),
    usage: usageSchema.nullable(),
    images: z.array(turnImageSchema).optional().describe("Pictures in the prompt, where `images` asked for them."),
    interrupted: z.boolean().optional().describe("True: the user stopped it before it ended."),
  })
  .meta({ id: "Turn" });

/** @see blockSchema */
export type Block = z.infer<typeof blockSchema>;
/** @see toolResultSchema */
export type ToolResult = z.infer<typeof toolResultSchema>;
/** @see turnImageSchema */
export type TurnImage = z.infer<typeof turnImageSchema>;
/** @see usageSchema */
export type Usage = z.infer<typeof usageSchema>;
/** @see turnSchema */
export type Turn = z.infer<typeof turnSchema>;
