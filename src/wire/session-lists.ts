import { z } from "zod";
import { agentSchema, dirSchema, sessionStatusSchema, sessionSummarySchema } from "./coding.ts";
import { textSchema } from "./text.ts";

const indexingSchema = z
  .object({ done: z.int(), total: z.int() })
  .nullable()
  .describe("Number of transcripts indexed, while results are partial. Null when complete.");
const offsetSchema = z.int().min(0).max(10_000_000);
const pageLimitSchema = z.int().min(1).max(200);

const pageSchema = z.object({
  total: z.int().describe("Matching sessions on all pages."),
  limit: z.int(),
  offset: z.int(),
  hasMore: z.boolean(),
  indexing: indexingSchema,
});

const notedShape = {
  archived: z.union([z.boolean(), z.literal("any")]).optional(),
  pinned: z.boolean().optional(),
  label: textSchema(100).optional().describe("Only sessions with this label."),
} as const;

export const listInputSchema = z
  .strictObject({
    agent: agentSchema.optional().describe("Filter by agent name or alias."),
    since: z
      .union([z.iso.date(), z.iso.datetime({ offset: true })])
      .optional()
      .describe("Only sessions updated since this date (UTC) or date-time."),
    dir: dirSchema.optional().describe("Only sessions in this directory or below it."),
    status: sessionStatusSchema.optional(),
    ...notedShape,
    archived: notedShape.archived.describe(
      "True: only archived sessions. False: sessions that are not archived, and archived ones that need an answer. Defaults to false, or to `any` with `idPrefix`.",
    ),
    idPrefix: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Only sessions with an id, current or earlier, that starts with this."),
    group: z
      .enum(["folder", "agent", "label"])
      .optional()
      .describe(
        "Orders by group, then most recently updated first, and adds each session's group: its folder (for a worktree, the repository's folder), agent or first label.",
      ),
    limit: pageLimitSchema.optional().describe("Defaults to 20."),
    offset: offsetSchema.optional(),
  })
  .meta({ id: "ListInput" });

export const listOutputSchema = pageSchema
  .extend({
    sessions: z
      .array(
        sessionSummarySchema.extend({
          group: z
            .string()
            .nullable()
            .optional()
            .describe("Set if the request has `group`. Null for a session without a label."),
        }),
      )
      .describe("Most recently updated first, within groups."),
  })
  .meta({ id: "ListOutput" });

export const searchInputSchema = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .max(1_000)
      .describe('Up to 32 words or "quoted phrases". All must match; the last word also matches as a prefix.'),
    in: z
      .enum(["title", "all"])
      .optional()
      .describe("`title` (default): title and first message. `all`: text of every turn."),
    agent: agentSchema.optional(),
    dir: dirSchema.optional().describe("Only sessions in this directory or below it."),
    status: sessionStatusSchema.optional(),
    ...notedShape,
    archived: notedShape.archived.describe(
      "True: only archived sessions. False: sessions that are not archived, and archived ones that need an answer. Defaults to `any`.",
    ),
    limit: pageLimitSchema.optional().describe("Defaults to 10."),
    offset: offsetSchema.optional(),
  })
  .meta({ id: "SearchInput" });

/** Where a search matched. */
export const searchMatchSchema = z.object({
  field: z.enum(["title", "first_message", "turn"]),
  turnIndex: z.int().nullable().describe("Turn that matched. Null for a title."),
  snippet: z.string().describe("Text around the match. Untrusted transcript content."),
});

export const searchOutputSchema = pageSchema
  .extend({
    sessions: z.array(sessionSummarySchema.extend({ match: searchMatchSchema })).describe("Best match first."),
  })
  .meta({ id: "SearchOutput" });

export type ListInput = z.infer<typeof listInputSchema>;
export type ListOutput = z.infer<typeof listOutputSchema>;
export type SearchInput = z.infer<typeof searchInputSchema>;
export type SearchMatch = z.infer<typeof searchMatchSchema>;
export type SearchOutput = z.infer<typeof searchOutputSchema>;
