// One request to the scripted model, over the Messages API; the answer is shown as it comes.
import { request } from "node:http";
import { toolNames } from "./tools.mjs";

export async function callModel({ model, systemPrompt, messages, signal, print }) {
  const tools = toolNames.map((name) => ({ name }));
  const body = JSON.stringify({ model, max_tokens: 1_000, system: systemPrompt, messages, tools, stream: true });
  const response = await post(`${process.env.SCRIPTED_MODEL_URL}/v1/messages`, body, signal);
  response.setEncoding("utf8");
  if (response.statusCode !== 200) throw await errorOf(response);
  const message = { content: [], stopReason: "end_turn", usage: {}, id: crypto.randomUUID() };
  let shown = "● ";
  for await (const event of eventsOf(response)) {
    if (event.type === "message_start") message.usage = event.message.usage ?? {};
    if (event.type === "content_block_start") message.content[event.index] = { ...event.content_block };
    if (event.type === "content_block_delta") {
      const block = message.content[event.index];
      const { text = "", thinking = "", partial_json: json = "" } = event.delta;
      if (block.type === "text") block.text += text;
      if (block.type === "thinking") block.thinking += thinking;
      if (block.type === "tool_use") block.json = (block.json ?? "") + json;
      const lines = (shown + text).split("\n");
      shown = lines.pop();
      if (lines.length > 0) print(lines.join("\n"));
    }
    if (event.type === "message_delta") {
      message.stopReason = event.delta.stop_reason ?? message.stopReason;
      message.usage = { ...message.usage, ...event.usage };
    }
  }
  if (shown !== "● ") print(shown);
  signal.throwIfAborted();
  message.content = message.content.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(json) } : block));
  return message;
}

function post(url, body, signal) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    request(url, { method: "POST", headers, signal, agent: false }, resolve).on("error", reject).end(body);
  });
}

async function errorOf(response) {
  let text = "";
  for await (const piece of response) text += piece;
  let message = text;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // The server's words as they are.
  }
  return Object.assign(new Error(message), { status: response.statusCode });
}

async function* eventsOf(stream) {
  let rest = "";
  for await (const piece of stream) {
    const parts = (rest + piece).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
