import type { ServerResponse } from "node:http";
import { z } from "zod";
import { newId, type OutputItem, toolItem } from "./codex-tool-calls.ts";
import type { Conversation, Reply, ToldError } from "./conversation.ts";
import type { ToolOutcome } from "./script.ts";
import { type EventWriter, openEventStream, streamText } from "./sse.ts";

const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const inputItem = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  output: z.unknown().optional(),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).optional(),
});
type InputItem = z.infer<typeof inputItem>;

/** The part of a Responses API request that the server looks at. */
export const responsesRequest = z.object({
  model: z.string(),
  instructions: z.string().optional(),
  input: z.array(inputItem),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).optional(),
  text: z.looseObject({ format: z.looseObject({ schema: z.unknown().optional() }).nullish() }).nullish(),
});
/** See {@link responsesRequest}. */
export type ResponsesRequest = z.infer<typeof responsesRequest>;

/** Reads a request of the Responses API. */
export function readResponses(body: ResponsesRequest): Conversation {
  const prompts = body.input
    .map((item, index) => ({ index, text: promptText(item) }))
    .filter(({ text }) => text !== null);
  const last = prompts.at(-1);
  const developer = body.input.filter(({ role }) => role === "developer" || role === "system").map(textOf);
  const offered = [...(body.tools ?? []), ...body.input.flatMap(({ tools }) => tools ?? [])];
  return {
    model: body.model,
    systemPrompt: [body.instructions ?? "", ...developer].join("\n\n"),
    prompt: last?.text ?? "",
    outcomes: body.input.slice((last?.index ?? 0) + 1).flatMap(outcomeOf),
    tools: offered.flatMap(({ name }) => (name === undefined ? [] : [name])),
    kind: (body.text?.format ?? null) === null ? "turn" : "side",
    answerSchema: body.text?.format?.schema,
  };
}

function textOf({ content }: InputItem): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("\n");
}

/** The text of a user message; null for all else and for what the agent injected. */
function promptText(item: InputItem): string | null {
  if (item.role !== "user") return null;
  const text = textOf(item);
  return /^\s*(<[a-z_]+>|# AGENTS\.md)/.test(text) ? null : text;
}

/** Output is a text or its parts; code mode has its own header. */
const toolOutput = z.union([
  z.string(),
  z.array(contentPart).transform((parts) => parts.map(({ text }) => text ?? "").join("\n")),
]);
const failedOutput =
  /^(Script failed|aborted|.*\brejected\b)|^Exit code: [1-9]|Process exited with code [1-9]|\nExit code [1-9]\d*\s*$/;

const outputHeader = /^(?:(?:Script completed|Chunk ID:|Wall time:|Exit code:)[\s\S]*?\nOutput:\n+)+/;

function outcomeOf(item: InputItem): readonly ToolOutcome[] {
  if (item.type !== "function_call_output" && item.type !== "custom_tool_call_output") return [];
  const parsed = toolOutput.safeParse(item.output);
  const text = parsed.success ? parsed.data : JSON.stringify(item.output);
  return [{ ok: !failedOutput.test(text), text: text.replace(outputHeader, "") }];
}

/** Answers in the words of the Responses API, always streaming. */
export async function writeResponses(response: ServerResponse, body: ResponsesRequest, reply: Reply): Promise<void> {
  if (reply.kind === "error") {
    writeResponsesError(response, reply);
    return;
  }
  const stream = openEventStream(response);
  const id = newId("resp");
  stream.send("response.created", {
    type: "response.created",
    response: { id, object: "response", status: "in_progress" },
  });
  const output: OutputItem[] = [];
  if (reply.thinking !== null) output.push(sendReasoning(stream, reply.thinking, output.length));
  // The summary of a `/compact`, which only the vendor can read.
  const isCompaction = body.input.some(({ type }) => type === "compaction_trigger");
  if (reply.kind === "tool" || isCompaction) {
    const compacted = { type: "compaction", id: newId("cmp"), encrypted_content: "c2NyaXB0ZWQ=" };
    const item = reply.kind === "tool" && !isCompaction ? toolItem(reply.step, body) : compacted;
    stream.send("response.output_item.added", {
      type: "response.output_item.added",
      output_index: output.length,
      item,
    });
    stream.send("response.output_item.done", { type: "response.output_item.done", output_index: output.length, item });
    output.push(item);
  } else {
    output.push(await sendMessage(stream, reply, output.length));
  }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 20 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  };
  stream.send("response.completed", {
    type: "response.completed",
    response: { id, object: "response", status: "completed", output, usage },
  });
  stream.end();
}

function sendReasoning(stream: EventWriter, text: string, outputIndex: number): OutputItem {
  const id = newId("rs");
  const place = { item_id: id, output_index: outputIndex, summary_index: 0 };
  const item = { type: "reasoning", id, summary: [{ type: "summary_text", text }], encrypted_content: null };
  stream.send("response.output_item.added", {
    type: "response.output_item.added",
    output_index: outputIndex,
    item: { ...item, summary: [] },
  });
  stream.send("response.reasoning_summary_part.added", {
    type: "response.reasoning_summary_part.added",
    ...place,
    part: { type: "summary_text", text: "" },
  });
  stream.send("response.reasoning_summary_text.delta", {
    type: "response.reasoning_summary_text.delta",
    ...place,
    delta: text,
  });
  stream.send("response.reasoning_summary_text.done", { type: "response.reasoning_summary_text.done", ...place, text });
  stream.send("response.output_item.done", { type: "response.output_item.done", output_index: outputIndex, item });
  return item;
}

async function sendMessage(
  stream: EventWriter,
  reply: Extract<Reply, { readonly kind: "text" }>,
  outputIndex: number,
): Promise<OutputItem> {
  const id = newId("msg");
  const item = { type: "message", id, role: "assistant", status: "completed" };
  const content = [{ type: "output_text", text: reply.text, annotations: [] }];
  const place = { item_id: id, output_index: outputIndex, content_index: 0 };
  stream.send("response.output_item.added", {
    type: "response.output_item.added",
    output_index: outputIndex,
    item: { ...item, status: "in_progress", content: [] },
  });
  await streamText(stream, reply.text, {
    overMs: reply.slowMs,
    emit: (delta) => stream.send("response.output_text.delta", { type: "response.output_text.delta", ...place, delta }),
  });
  stream.send("response.output_text.done", { type: "response.output_text.done", ...place, text: reply.text });
  const done = { ...item, content };
  stream.send("response.output_item.done", {
    type: "response.output_item.done",
    output_index: outputIndex,
    item: done,
  });
  return done;
}

/** An error in the form of the Responses API. */
export function writeResponsesError(response: ServerResponse, { status, message, ...more }: ToldError): void {
  response.writeHead(status, { "content-type": "application/json", ...more.headers });
  const type = status < 500 ? "invalid_request_error" : "server_error";
  response.end(JSON.stringify({ error: { type, code: null, message, param: null, ...more.error } }));
}
