import { z } from "zod";

/** @see MessageForm */
export const messageFormSchema = z.enum(["responses", "events", "items"]);

/** @see TurnMark */
export const markSchema = z.object({
  role: z.enum(["user", "assistant"]),
  start: z.int(),
  firstLineBytes: z.int(),
  before: z
    .object({
      agentSessionId: z.string().nullable(),
      model: z.string().nullable(),
      form: messageFormSchema,
      totalTokens: z.number().nullable(),
    })
    .exactOptional(),
  interrupted: z.literal(true).exactOptional(),
});

const textSchema = z.string().nullable();

const factsSchema = z.object({
  agentSessionId: textSchema,
  cwd: textSchema,
  branch: textSchema,
  model: textSchema,
  ownTitle: textSchema,
  firstPrompt: textSchema,
  createdAt: textSchema,
  updatedAt: textSchema,
  lastTurn: z.discriminatedUnion("kind", [
    z.object({ kind: z.enum(["none", "open", "ended", "aborted"]) }),
    z.object({
      kind: z.literal("failed"),
      message: z.string(),
      needs: z.enum(["login", "limit_reset"]).exactOptional(),
      resetsAt: z.string().exactOptional(),
    }),
  ]),
  turnLines: z.int(),
});

/** What every format's indexer knows between two lines: the newest turns, how many there were before them, and the facts. */
export const savedIndexerSchema = z.looseObject({
  format: z.string(),
  turnsBefore: z.int(),
  marks: z.array(markSchema),
  facts: factsSchema,
});

/** The state of an indexer, saved so that another one can continue; about a kilobyte as JSON. Each format extends it. */
export type SavedIndexer = z.infer<typeof savedIndexerSchema>;
