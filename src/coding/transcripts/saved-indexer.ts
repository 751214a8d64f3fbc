import { z } from "zod";

const promptSchema = z.object({ form: z.enum(["responses", "events", "items"]), text: z.string() });

const markSchema = z.object({
  role: z.enum(["user", "assistant"]),
  start: z.int(),
  firstLineBytes: z.int(),
  before: z
    .object({
      agentSessionId: z.string().nullable(),
      model: z.string().nullable(),
      form: promptSchema.shape.form,
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

/** What all formats' indexers know between two lines: the newest turns, how many went before them, and the facts. */
const baseSchema = z.object({ turnsBefore: z.int(), marks: z.array(markSchema), facts: factsSchema });

const savedClaudeSchema = baseSchema.extend({
  format: z.literal("claude"),
  titles: z.object({ custom: textSchema, ai: textSchema, summary: textSchema }),
  command: z.object({ mark: markSchema, text: z.string() }).nullable(),
});

const savedCodexSchema = baseSchema.extend({
  format: z.literal("codex"),
  form: promptSchema.shape.form,
  unanswered: promptSchema.nullable(),
  tellsTurns: z.boolean(),
  // What an older version put by does not say it.
  turnIsOver: z.boolean().default(false),
  hasMeta: z.boolean(),
  totalTokens: z.number().nullable(),
  usageStart: z.int().nullable(),
});

const savedGeminiSchema = baseSchema.extend({ format: z.literal("gemini"), copying: z.boolean() });

const savedOpenCodeSchema = baseSchema.extend({
  format: z.literal("opencode"),
  userMessage: z.string(),
  awaitsPrompt: z.boolean(),
});

/** @see SavedIndexer */
export const savedIndexerSchema = z.discriminatedUnion("format", [
  savedClaudeSchema,
  savedCodexSchema,
  savedGeminiSchema,
  savedOpenCodeSchema,
]);

/** An indexer of a Claude Code transcript, put by. */
export type SavedClaude = z.infer<typeof savedClaudeSchema>;
/** An indexer of a Codex rollout, put by. */
export type SavedCodex = z.infer<typeof savedCodexSchema>;
/** An indexer of a Gemini CLI transcript, put by. */
export type SavedGemini = z.infer<typeof savedGeminiSchema>;
/** An indexer of an OpenCode session, put by. */
export type SavedOpenCode = z.infer<typeof savedOpenCodeSchema>;
/** An indexer put by, so that another one can go on where it stood; as JSON about a kilobyte. */
export type SavedIndexer = z.infer<typeof savedIndexerSchema>;
