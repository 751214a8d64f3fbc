import { z } from "zod";
import { agentSchema, dirSchema, sessionStatusSchema, sessionSummarySchema } from "./coding.ts";

/** How far the catalog of transcripts is; null when it is complete. */
const indexingSchema = z
  .object({ done: z.int(), total: z.int() })
  .nullable()
  .describe("Transcripts indexed of those found, while the answer is still partial; null when it is complete.");
const offsetSchema = z.int().min(0).max(10_000_000);
const pageLimitSchema = z.int().min(1).max(200);

const pageSchema = z.object({
  total: z.int().describe("Sessions that match, on all pages."),
  limit: z.int(),
  offset: z.int(),
  hasMore: z.boolean(),
  indexing: indexingSchema,
});

export const listInputSchema = z
  .strictObject({
    agent: agentSchema.optional().describe("Only sessions of this agent, by name or alias."),
    since: z
      .union([z.iso.date(), z.iso.datetime({ offset: true })])
      .optional()
      .describe("Only sessions updated at or after this date (UTC) or date-time."),
    dir: dirSchema.optional().describe("Only sessions that worked in this directory or below it."),
    status: sessionStatusSchema.optional(),
    limit: pageLimitSchema.optional().describe("20 by default."),
    offset: offsetSchema.optional(),
  })
  .meta({ id: "ListInput" });

export const listOutputSchema = pageSchema
  .extend({ sessions: z.array(sessionSummarySchema).describe("Most recently updated first.") })
  .meta({ id: "ListOutput" });

export const searchInputSchema = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .max(1_000)
      .describe('At most 32 words or "quoted phrases" that all have to occur; the last word also as a prefix.'),
    in: z
      .enum(["title", "all"])
      .optional()
      .describe("`title` (default): title and first message. `all`: the text of every turn."),
    agent: agentSchema.optional(),
    dir: dirSchema.optional().describe("Only sessions that worked in this directory or below it."),
    limit: pageLimitSchema.optional().describe("10 by default."),
    offset: offsetSchema.optional(),
  })
  .meta({ id: "SearchInput" });

/** Where a search found its words. */
export const searchMatchSchema = z.object({
  field: z.enum(["title", "first_message", "turn"]),
  turnIndex: z.int().nullable().describe("The turn of the match; null for a title."),
  snippet: z.string().describe("The text around the match, untrusted as all of a transcript."),
});

export const searchOutputSchema = pageSchema
  .extend({ sessions: z.array(sessionSummarySchema.extend({ match: searchMatchSchema })).describe("Best first.") })
  .meta({ id: "SearchOutput" });

export type ListInput = z.infer<typeof listInputSchema>;
export type ListOutput = z.infer<typeof listOutputSchema>;
export type SearchInput = z.infer<typeof searchInputSchema>;
export type SearchMatch = z.infer<typeof searchMatchSchema>;
export type SearchOutput = z.infer<typeof searchOutputSchema>;
