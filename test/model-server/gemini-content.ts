import type { ServerResponse } from "node:http";
import { z } from "zod";
import type { Conversation, Reply, ToldError } from "./conversation.ts";
import type { Step, ToolOutcome } from "./script.ts";
import { pauseFor, streamText } from "./sse.ts";

const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionResponse: z.looseObject({ response: z.looseObject({}).optional() }).optional(),
});
const content = z.looseObject({ role: z.string().optional(), parts: z.array(part).optional() });
type Part = z.infer<typeof part>;

/** The part of a `generateContent` request that the server looks at. */
export const contentRequest = z.looseObject({
  contents: z.array(content),
  systemInstruction: content.optional(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).optional() }))
    .optional(),
  generationConfig: z
    .looseObject({ responseMimeType: z.string().optional(), responseJsonSchema: z.unknown().optional() })
    .optional(),
});
type ContentRequest = z.infer<typeof contentRequest>;

/** The model and the method of a path such as `/v1beta/models/gemini-x:streamGenerateContent`; null for any other path. */
export function contentPath(path: string): { readonly model: string; readonly method: string } | null {
  const [, model, method] = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(path) ?? [];
  return model === undefined || method === undefined ? null : { model, method };
}

/** Reads a request of the Gemini API. */
export function readContent(body: ContentRequest, model: string): Conversation {
  const parts = body.contents.filter(({ role }) => role !== "model").flatMap((each) => each.parts ?? []);
  const prompts = parts.map((each, index) => ({ index, text: promptText(each) })).filter(({ text }) => text !== null);
  const last = prompts.at(-1);
  const tools = (body.tools ?? []).flatMap((each) => each.functionDeclarations ?? []).map(({ name }) => name);
  return {
    model,
    systemPrompt: textOf(body.systemInstruction?.parts),
    prompt: last?.text ?? "",
    outcomes: parts.slice((last?.index ?? 0) + 1).flatMap(outcomeOf),
    tools,
    // Its side requests offer no tools: which model to use, what the session was about.
    kind: tools.length === 0 || body.generationConfig?.responseMimeType === "application/json" ? "side" : "turn",
    answerSchema: body.generationConfig?.responseJsonSchema,
  };
}

function textOf(parts: readonly Part[] | undefined): string {
  return (parts ?? []).map(({ text }) => text ?? "").join("\n");
}

/** The text of a part that the user wrote; null for results of tools and for what the agent injected. */
function promptText({ text }: Part): string | null {
  return text === undefined || /^\s*<(session_context|hook_context)>/.test(text) ? null : text;
}

function outcomeOf({ functionResponse }: Part): readonly ToolOutcome[] {
  if (functionResponse === undefined) return [];
  const { error, output } = functionResponse.response ?? {};
  const told = error ?? output ?? "";
  return [{ ok: error === undefined, text: typeof told === "string" ? told : JSON.stringify(told) }];
}

function functionCall(step: Step): { readonly name: string; readonly args: Readonly<Record<string, unknown>> } {
  if (step.kind === "write") return { name: "write_file", args: { file_path: step.path, content: step.text } };
  if (step.kind === "run") return { name: "run_shell_command", args: { command: step.command } };
  if (step.kind === "ask") return { name: "ask_user", args: { questions: [questionOf(step.question)] } };
  return { name: step.tool, args: step.input };
}

function questionOf(question: string): Readonly<Record<string, unknown>> {
  const options = ["Yes", "No"].map((label) => ({ label, description: `The answer is ${label.toLowerCase()}` }));
  return { question, header: "Question", type: "choice", options };
}

let nextId = 0;

/** Answers in the words of the Gemini API, streaming when asked to. */
export async function writeContent(response: ServerResponse, reply: Reply, streams: boolean): Promise<void> {
  if (reply.kind === "error") {
    writeContentError(response, reply);
    return;
  }
  const thoughts = reply.thinking === null ? [] : [{ text: `**Thinking** ${reply.thinking}`, thought: true }];
  const last =
    reply.kind === "tool"
      ? { functionCall: { id: `call_scripted${nextId++}`, ...functionCall(reply.step) } }
      : { text: reply.text };
  if (!streams) {
    await pauseFor(response, reply.kind === "text" ? reply.slowMs : 0);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(chunkOf([...thoughts, last], true)));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (parts: readonly unknown[], ends: boolean): void => {
    if (!response.destroyed) response.write(`data: ${JSON.stringify(chunkOf(parts, ends))}\n\n`);
  };
  if (thoughts.length > 0) send(thoughts, false);
  if (reply.kind === "text") {
    const pace = {
      get gone() {
        return response.destroyed;
      },
      pause: (delayMs: number) => pauseFor(response, delayMs),
    };
    await streamText(pace, reply.text, { overMs: reply.slowMs, emit: (text) => send([{ text }], false) });
  }
  send(reply.kind === "text" ? [{ text: "" }] : [last], true);
  response.end();
}

function chunkOf(parts: readonly unknown[], ends: boolean): unknown {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...(ends ? { finishReason: "STOP" } : {}) }],
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: 10,
      cachedContentTokenCount: 20,
      totalTokenCount: 110,
    },
  };
}

const errorStates = new Map([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [429, "RESOURCE_EXHAUSTED"],
  [503, "UNAVAILABLE"],
]);

/** An error in the form of the Gemini API. */
export function writeContentError(response: ServerResponse, { status, message, ...more }: ToldError): void {
  response.writeHead(status, { "content-type": "application/json", ...more.headers });
  const error = { code: status, message, status: errorStates.get(status) ?? "INTERNAL", ...more.error };
  response.end(JSON.stringify({ error }));
}
