import type { z } from "zod";
import { requireScope } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  type AnswerPermissionInput,
  type AskInput,
  type AskOutput,
  answerPermissionOutputSchema,
  askOutputSchema,
  type CloseOutput,
  closeOutputSchema,
  type InterruptOutput,
  interruptOutputSchema,
  type ListAgentsOutput,
  listAgentsOutputSchema,
  type ReadInput,
  type ReadOutput,
  readOutputSchema,
} from "../wire/coding.ts";
import type { PermissionRulesPreview, PreviewPermissionRulesInput } from "../wire/permission-rules.ts";
import {
  type CancelledPrompt,
  type CancelPromptInput,
  cancelledPromptSchema,
  type PromptQueueOutput,
  promptQueueSchema,
} from "../wire/queue.ts";
import { type ListInput, type ListOutput, listOutputSchema } from "../wire/session-lists.ts";
import type { ChatDeps } from "./ports.ts";

/** The tools that chats use, with the scopes, schemas and errors of the shared table. */
export interface Sessions {
  ask(input: AskInput, signal: AbortSignal): Promise<AskOutput>;
  read(input: ReadInput, signal: AbortSignal): Promise<ReadOutput>;
  list(input: ListInput, signal: AbortSignal): Promise<ListOutput>;
  close(sessionId: string, signal: AbortSignal): Promise<CloseOutput>;
  interrupt(sessionId: string, signal: AbortSignal): Promise<InterruptOutput>;
  answer(input: AnswerPermissionInput, signal: AbortSignal): Promise<unknown>;
  agents(signal: AbortSignal): Promise<ListAgentsOutput>;
  /** Whether permissions can be answered from a chat. */
  canAnswer(): Promise<boolean>;
  /** The prompts that wait in a session. */
  queue(sessionId: string, signal: AbortSignal): Promise<PromptQueueOutput>;
  cancelPrompt(input: CancelPromptInput, signal: AbortSignal): Promise<CancelledPrompt>;
  /** Stores a file for a prompt. @param sessionId null for a new session @returns its id */
  attach(name: string, sessionId: string | null, body: AsyncIterable<Uint8Array>): Promise<string>;
  /** The standing rules that an answer would add. */
  previewRules(input: PreviewPermissionRulesInput): Promise<PermissionRulesPreview>;
}

export function createSessions({
  tools,
  principal,
  attach,
  previewRules,
}: Pick<ChatDeps, "tools" | "principal" | "attach" | "previewRules">): Sessions {
  async function call<T>(
    { name, output }: { readonly name: string; readonly output: z.ZodType<T> },
    input: unknown,
    signal: AbortSignal,
  ): Promise<T> {
    const tool = tools.find((row) => row.name === name);
    if (tool === undefined) throw new PosternError("internal_error", `Tool ${name} does not exist.`);
    const caller = await principal();
    requireScope(caller, tool.scope);
    const parsed = tool.input.safeParse(input);
    if (!parsed.success) throw new PosternError("invalid_request", `Invalid input: ${parsed.error.message}`);
    return output.parse(await tool.run(parsed.data, caller, signal));
  }
  return {
    ask: (input, signal) => call({ name: "coding_ask", output: askOutputSchema }, input, signal),
    read: (input, signal) => call({ name: "coding_read_session", output: readOutputSchema }, input, signal),
    list: (input, signal) => call({ name: "coding_list_sessions", output: listOutputSchema }, input, signal),
    close: (sessionId, signal) =>
      call({ name: "coding_close_session", output: closeOutputSchema }, { sessionId }, signal),
    interrupt: (sessionId, signal) =>
      call({ name: "coding_interrupt", output: interruptOutputSchema }, { sessionId }, signal),
    answer: (input, signal) =>
      call({ name: "coding_answer_permission", output: answerPermissionOutputSchema }, input, signal),
    agents: (signal) => call({ name: "coding_list_agents", output: listAgentsOutputSchema }, {}, signal),
    queue: (sessionId, signal) =>
      call({ name: "coding_list_prompts", output: promptQueueSchema }, { sessionId }, signal),
    cancelPrompt: (input, signal) =>
      call({ name: "coding_cancel_prompt", output: cancelledPromptSchema }, input, signal),
    async attach(name, sessionId, body) {
      const caller = await principal();
      requireScope(caller, "coding:write");
      return (await attach({ name, mediaType: null, sessionId }, body, caller)).attachmentId;
    },
    async previewRules(input) {
      const caller = await principal();
      requireScope(caller, "coding:drive");
      return previewRules(input, caller);
    },
    canAnswer: async () => (await principal()).scopes.has("coding:drive"),
  };
}
