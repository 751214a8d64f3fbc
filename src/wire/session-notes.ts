import { z } from "zod";
import { sessionSummarySchema } from "./coding.ts";
import { textSchema } from "./text.ts";

/** Maximum labels of a session. */
export const maxLabels = 20;
/** Maximum length of a label in characters, after normalization. */
export const maxLabelLength = 50;

/** A label can be twice as long before normalization, which removes spaces. */
const labelSchema = textSchema(2 * maxLabelLength);
const labelsSchema = z.array(labelSchema).max(maxLabels);

const editsShape = {
  title: textSchema(200)
    .nullable()
    .optional()
    .describe("Shown instead of the agent's title. Null restores the agent's title."),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional().describe("True hides the session from lists, unless it needs an answer."),
  labels: labelsSchema
    .optional()
    .describe("Replaces all labels. Labels are lower-case, without surrounding space, at most 50 characters."),
  addLabels: labelsSchema
    .optional()
    .describe("Adds these labels and keeps all others, including labels that other callers add at the same time."),
  removeLabels: labelsSchema.optional(),
} as const;

/** `PATCH /api/coding/sessions/{sessionId}` */
export const sessionEditsSchema = z.strictObject(editsShape).meta({ id: "SessionEdits" });

/** `coding_edit_session` */
export const editSessionInputSchema = z
  .strictObject({ sessionId: textSchema(200), ...editsShape })
  .meta({ id: "EditSessionInput" });

export const editSessionOutputSchema = sessionSummarySchema.meta({ id: "EditSessionOutput" });

/** `POST /api/coding/sessions/{sessionId}/seen` */
export const seenSchema = z
  .object({ sessionId: z.string(), unread: z.boolean(), seenAt: z.string() })
  .meta({ id: "SessionSeen" });

/** `GET /api/coding/labels` */
export const labelListSchema = z
  .object({
    labels: z
      .array(
        z.object({
          label: z.string(),
          sessions: z.int().describe("Sessions with this label that the caller can see."),
        }),
      )
      .describe("In alphabetical order."),
    truncated: z.boolean(),
  })
  .meta({ id: "LabelList" });

export type SessionEdits = z.infer<typeof sessionEditsSchema>;
export type EditSessionInput = z.infer<typeof editSessionInputSchema>;
export type EditSessionOutput = z.infer<typeof editSessionOutputSchema>;
export type Seen = z.infer<typeof seenSchema>;
export type LabelList = z.infer<typeof labelListSchema>;
