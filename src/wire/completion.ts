import { z } from "zod";
import { agentSchema, dirSchema } from "./coding.ts";
import { textSchema } from "./text.ts";

/** `GET /api/coding/completions` */
export const completionsQuerySchema = z
  .strictObject({
    sessionId: textSchema(200).optional().describe("Completes for this session's agent and directory."),
    dir: dirSchema.optional().describe("For a new session: its directory."),
    agent: agentSchema.optional().describe("For a new session: agent name or alias. Defaults to the default agent."),
    kind: z.enum(["file", "command"]),
    q: z.string().max(500).default("").describe("The typed text without `@`, `/` or `$`. Matching is fuzzy."),
    limit: z.coerce.number().int().min(1).max(100).default(20),
  })
  .refine(({ sessionId, dir }) => (sessionId === undefined) !== (dir === undefined), {
    error: 'Set either "sessionId" or "dir".',
  });

export const completionItemSchema = z.object({
  insert: z
    .string()
    .describe("The text to insert, in the agent's syntax. Replaces the typed text, including its first character."),
  label: z.string().describe("A path in the directory, or a command with its arguments. Untrusted."),
  detail: z.string().describe("A command's description, or empty. Untrusted."),
  kind: z
    .enum(["file", "folder", "command", "terminal_command", "skill"])
    .describe(
      '`command` can be sent with `kind: "command"`, `terminal_command` only with `allowCommands`; a `skill` is part of a prompt\'s text.',
    ),
});

export const completionsSchema = z
  .object({
    items: z.array(completionItemSchema).describe("Best match first."),
    truncated: z.boolean().describe("True if there are more matches, or files that are not indexed yet."),
  })
  .meta({ id: "Completions" });

export type CompletionsQuery = z.infer<typeof completionsQuerySchema>;
export type CompletionItem = z.infer<typeof completionItemSchema>;
export type Completions = z.infer<typeof completionsSchema>;
