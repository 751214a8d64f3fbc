import { z } from "zod";

/** The most turns in one response. */
const maxFound = 1_000;

/** `GET /api/coding/sessions/{id}/turns/search` */
export const turnSearchQuerySchema = z.strictObject({
  q: z.string().trim().min(1).max(200).describe("Matched literally, ignoring case."),
  limit: z.coerce.number().int().min(1).max(maxFound).default(maxFound),
});

/** Where a session's conversation contains the text. */
export const turnSearchSchema = z
  .object({
    matches: z.array(
      z.object({
        index: z.int().describe("The turn."),
        count: z.int().describe("Number of matches in the turn."),
        snippet: z.string().describe("The text around the first of them, in one line. Untrusted."),
      }),
    ),
    turnCount: z.int(),
    truncated: z.boolean().describe("True if more turns match than `limit`."),
  })
  .meta({ id: "TurnSearch" });

/** What a reader jumps to. `problem`: a failed tool, or an interrupted turn. */
export const turnMarkSchema = z.enum(["prompt", "problem"]);

/** `GET /api/coding/sessions/{id}/turns/next` */
export const nextTurnQuerySchema = z.strictObject({
  mark: turnMarkSchema,
  from: z.coerce
    .number()
    .int()
    .min(-1)
    .max(10_000_000)
    .describe("The search starts at the turn before or after this one."),
  direction: z.enum(["next", "previous"]).default("next"),
});

export const nextTurnSchema = z
  .object({ index: z.int().nullable().describe("Null if there is no such turn in this direction.") })
  .meta({ id: "NextTurn" });

export type TurnSearchQuery = z.infer<typeof turnSearchQuerySchema>;
export type TurnSearch = z.infer<typeof turnSearchSchema>;
export type TurnMark = z.infer<typeof turnMarkSchema>;
export type NextTurnQuery = z.infer<typeof nextTurnQuerySchema>;
export type NextTurn = z.infer<typeof nextTurnSchema>;
