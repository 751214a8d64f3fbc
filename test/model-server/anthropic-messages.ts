import type { ServerResponse } from "node:http";
import { z } from "zod";
import type { Conversation, Reply, ToldError } from "./conversation.ts";
import type { Step, ToolOutcome } from "./script.ts";
import { openEventStream, pauseFor, streamText } from "./sse.ts";

const textBlock = z.object({ type: z.literal("text"), text: z.string() });
const toolResult = z.object({
  type: z.literal("tool_result"),
  content: z.union([z.string(), z.array(z.union([textBlock, z.looseObject({ type: z.string() })]))]).optional(),
  is_error: z.boolean().optional(),
});
const block = z.union([textBlock, toolResult, z.looseObject({ type: z.string() })]);
type Block = z.infer<typeof block>;

/** The part of a Messages API request that the server looks at. */
export const messagesRequest = z.object({
  model: z.string(),
  system: z.union([z.string(), z.array(textBlock)]).optional(),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.array(block)]) })),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  output_config: z.looseObject({ format: z.looseObject({ schema: z.unknown().optional() }).nullish() }).optional(),
  stream: z.boolean().optional(),
});
type MessagesRequest = z.infer<typeof messagesRequest>;

/** Reads a request of the Messages API. */
export function readMessages(body: MessagesRequest): Conversation {
  const blocks: Block[] = body.messages
    .filter((message) => message.role === "user")
    .flatMap(({ content }) => (typeof content === "string" ? [{ type: "text" as const, text: content }] : content));
  const prompts = blocks.map((each, index) => ({ index, text: promptText(each) })).filter(({ text }) => text !== null);
  const last = prompts.at(-1);
  const tools = (body.tools ?? []).map(({ name }) => name);
  const system =
    typeof body.system === "string" ? body.system : (body.system ?? []).map(({ text }) => text).join("\n\n");
  return {
    model: body.model,
    systemPrompt: [system, ...body.messages.filter(({ role }) => role === "system").map(messageText)].join("\n\n"),
    prompt: last?.text ?? "",
    outcomes: blocks.slice((last?.index ?? 0) + 1).flatMap(outcomeOf),
    tools,
    kind: (body.output_config?.format ?? null) === null ? "turn" : "side",
    answerSchema: body.output_config?.format?.schema,
  };
}

function messageText({ content }: MessagesRequest["messages"][number]): string {
  return typeof content === "string" ? content : content.map((each) => promptText(each) ?? "").join("\n");
}

/** The text of a block that the user wrote; null for tool results and for what the agent injected. */
function promptText(candidate: Block): string | null {
  const parsed = textBlock.safeParse(candidate);
  if (!parsed.success) return null;
  const { text } = parsed.data;
  return /^\s*<(system-reminder|local-command|command-name|command-message)/.test(text) ? null : unwrapPaste(text);
}

/** Claude Code puts a long or multi-line paste between tags with an id of the session. */
function unwrapPaste(text: string): string {
  return /^\n\n<pasted_content id="([0-9a-f]{4})">\n([\s\S]*)\n<\/pasted_content id="\1">\n$/.exec(text)?.[2] ?? text;
}

function outcomeOf(candidate: Block): readonly ToolOutcome[] {
  const parsed = toolResult.safeParse(candidate);
  if (!parsed.success) return [];
  const { content, is_error } = parsed.data;
  const text = typeof content === "string" ? content : (content ?? []).map((part) => promptText(part) ?? "").join("\n");
  return [{ ok: is_error !== true, text }];
}

function toolUse(step: Step): { readonly name: string; readonly input: Readonly<Record<string, unknown>> } {
  if (step.kind === "write") return { name: "Write", input: { file_path: step.path, content: step.text } };
  if (step.kind === "run")
    return { name: "Bash", input: { command: step.command, description: "Run the command of the script" } };
  if (step.kind === "ask") return { name: "AskUserQuestion", input: { questions: [questionOf(step.question)] } };
  return { name: step.tool, input: step.input };
}

function questionOf(question: string): Readonly<Record<string, unknown>> {
  const options = ["Yes", "No"].map((label) => ({ label, description: `The answer is ${label.toLowerCase()}` }));
  return { question, header: "Question", options, multiSelect: false };
}

let nextId = 0;
const newId = (prefix: string): string => `${prefix}_scripted${Date.now().toString(36)}${(nextId++).toString(36)}`;

/** Answers in the words of the Messages API, streaming when asked to. */
export async function writeMessages(response: ServerResponse, body: MessagesRequest, reply: Reply): Promise<void> {
  if (reply.kind === "error") {
    writeMessagesError(response, reply);
    return;
  }
  const content = contentOf(reply);
  const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 20, output_tokens: 10 };
  const message = {
    id: newId("msg"),
    type: "message",
    role: "assistant",
    model: body.model,
    stop_sequence: null,
    usage,
  };
  const stopReason = reply.kind === "tool" ? "tool_use" : "end_turn";
  if (body.stream !== true) {
    await pauseFor(response, reply.kind === "text" ? reply.slowMs : 0);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...message, content, stop_reason: stopReason }));
    return;
  }
  const stream = openEventStream(response);
  stream.send("message_start", { type: "message_start", message: { ...message, content: [], stop_reason: null } });
  for (const [index, part] of content.entries()) {
    const delta = (fields: Readonly<Record<string, unknown>>): void =>
      stream.send("content_block_delta", { type: "content_block_delta", index, delta: fields });
    stream.send("content_block_start", { type: "content_block_start", index, content_block: emptied(part) });
    if (part.type === "thinking") {
      delta({ type: "thinking_delta", thinking: part.thinking });
      delta({ type: "signature_delta", signature: part.signature });
    } else if (part.type === "tool_use") {
      delta({ type: "input_json_delta", partial_json: JSON.stringify(part.input) });
    } else {
      const overMs = reply.kind === "text" ? reply.slowMs : 0;
      await streamText(stream, part.text, { overMs, emit: (text) => delta({ type: "text_delta", text }) });
    }
    stream.send("content_block_stop", { type: "content_block_stop", index });
  }
  stream.send("message_delta", {
    type: "message_delta",
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { ...usage },
  });
  stream.send("message_stop", { type: "message_stop" });
  stream.end();
}

type Content =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

function contentOf(reply: Exclude<Reply, { readonly kind: "error" }>): readonly Content[] {
  const thinking: readonly Content[] =
    reply.thinking === null ? [] : [{ type: "thinking", thinking: reply.thinking, signature: "c2NyaXB0ZWQ=" }];
  const last: Content =
    reply.kind === "text"
      ? { type: "text", text: reply.text }
      : { type: "tool_use", id: newId("toolu"), ...toolUse(reply.step) };
  return [...thinking, last];
}

function emptied(part: Content): Readonly<Record<string, unknown>> {
  if (part.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  if (part.type === "text") return { type: "text", text: "" };
  return { ...part, input: {} };
}

const errorTypes = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [429, "rate_limit_error"],
  [529, "overloaded_error"],
]);

/** An error in the form of the Messages API. */
export function writeMessagesError(response: ServerResponse, { status, message, ...more }: ToldError): void {
  response.writeHead(status, { "content-type": "application/json", ...more.headers });
  const error = { type: errorTypes.get(status) ?? "api_error", message, ...more.error };
  response.end(JSON.stringify({ type: "error", error }));
}
