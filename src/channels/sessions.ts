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
}

export function createSessions({ tools, principal }: Pick<ChatDeps, "tools" | "principal">): Sessions {
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
    canAnswer: async () => (await principal()).scopes.has("coding:drive"),
  };
}
