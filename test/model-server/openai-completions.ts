import type { ServerResponse } from "node:http";
import { z } from "zod";
import type { Conversation, Reply } from "./conversation.ts";
import { writeResponsesError } from "./openai-responses.ts";
import { pauseFor } from "./sse.ts";

/** The part of a chat completion's request that the server looks at. It is asked by the extractor alone: no tools, no stream. */
export const completionsRequest = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  response_format: z.looseObject({ json_schema: z.looseObject({ schema: z.unknown() }).optional() }).optional(),
  stream: z.literal(false).optional(),
});
type CompletionsRequest = z.infer<typeof completionsRequest>;

/** Reads a request for a chat completion. */
export function readCompletions({ model, messages, response_format }: CompletionsRequest): Conversation {
  const said = (role: string) => messages.filter((message) => message.role === role).map(({ content }) => content);
  return {
    model,
    systemPrompt: said("system").join("\n\n"),
    prompt: said("user").at(-1) ?? "",
    outcomes: [],
    tools: [],
    kind: response_format === undefined ? "turn" : "side",
    answerSchema: response_format?.json_schema?.schema,
  };
}

/** Answers in the words of a chat completion. */
export async function writeCompletions(
  response: ServerResponse,
  body: CompletionsRequest,
  reply: Reply,
): Promise<void> {
  if (reply.kind === "error") {
    writeResponsesError(response, reply);
    return;
  }
  if (reply.kind === "tool") {
    writeResponsesError(response, { status: 400, message: "Chat completions are answered without tools here." });
    return;
  }
  await pauseFor(response, reply.slowMs);
  const message = { role: "assistant", content: reply.text };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "chatcmpl_scripted", object: "chat.completion", model: body.model, choices }));
}
