import { z } from "zod";
import { attachmentSchema } from "./attachments.ts";
import { deliveryStateSchema } from "./coding.ts";
import { promptKindSchema } from "./prompt-kind.ts";
import { textSchema } from "./text.ts";

const sessionIdSchema = textSchema(200);
const promptIdSchema = textSchema(200);

/** A queued prompt. */
export const queuedPromptSchema = z
  .object({
    promptId: z.string(),
    position: z.int().describe("0 is sent next."),
    text: z.string(),
    kind: promptKindSchema.describe("`command`: the agent runs it as one of its commands."),
    queuedAt: z.string(),
    attachments: z.array(attachmentSchema).describe("Files that are sent with it."),
    canChange: z
      .boolean()
      .describe(
        "Whether you can edit, move and cancel it: you or a token of yours queued it, or you have `coding:drive`.",
      ),
  })
  .meta({ id: "QueuedPrompt" });

/** A session's queued prompts. */
export const promptQueueSchema = z
  .object({
    sessionId: z.string(),
    prompts: z.array(queuedPromptSchema).describe("In the order they will be sent."),
  })
  .meta({ id: "PromptQueue" });

export const listPromptsInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "ListPromptsInput" });

const promptChanges = {
  text: z.string().min(1).optional().describe("The new text."),
  position: z.int().min(0).max(1_000).optional().describe("The new position. 0 is sent next."),
  sendNow: z.boolean().optional().describe("Stop the running turn, and send this prompt first."),
};

/** `PATCH /api/coding/sessions/{id}/prompts/{promptId}` */
export const changePromptInputSchema = z.strictObject(promptChanges).meta({ id: "ChangePromptInput" });

export const editPromptInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, promptId: promptIdSchema, ...promptChanges })
  .meta({ id: "EditPromptInput" });

export const changedPromptSchema = promptQueueSchema
  .extend({ promptId: z.string(), deliveryState: deliveryStateSchema })
  .meta({ id: "ChangedPrompt" });

export const cancelPromptInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, promptId: promptIdSchema })
  .meta({ id: "CancelPromptInput" });

export const cancelledPromptSchema = promptQueueSchema
  .extend({ cancelled: queuedPromptSchema })
  .meta({ id: "CancelledPrompt" });

export const queueParamsSchema = z.strictObject({ sessionId: sessionIdSchema });
export const promptParamsSchema = z.strictObject({ sessionId: sessionIdSchema, promptId: promptIdSchema });

export type QueuedPrompt = z.infer<typeof queuedPromptSchema>;
export type PromptQueueOutput = z.infer<typeof promptQueueSchema>;
export type EditPromptInput = z.infer<typeof editPromptInputSchema>;
export type ChangedPrompt = z.infer<typeof changedPromptSchema>;
export type CancelPromptInput = z.infer<typeof cancelPromptInputSchema>;
export type CancelledPrompt = z.infer<typeof cancelledPromptSchema>;
