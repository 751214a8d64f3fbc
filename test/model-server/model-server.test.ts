import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { echoOf } from "./script.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

async function post(path: string, body: unknown, encoding?: "gzip" | "zstd"): Promise<Response> {
  const text = JSON.stringify(body);
  const encoded = encoding === "gzip" ? gzipSync(text) : encoding === "zstd" ? zstdCompressSync(text) : text;
  const headers = {
    "content-type": "application/json",
    ...(encoding === undefined ? {} : { "content-encoding": encoding }),
  };
  return await fetch(server.url + path, { method: "POST", headers, body: encoded });
}

/** The `data:` lines of an event stream. */
async function eventsOf(response: Response): Promise<readonly { readonly type: string }[]> {
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
}

const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
const codexUser = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });

test("the Messages API answers whole or as a stream", async () => {
  const whole = await post("/v1/messages?beta=true", { model: "m", messages: [user("hello")] });
  expect(await whole.json()).toMatchObject({ role: "assistant", content: [{ type: "text", text: echoOf("hello") }] });
  const events = await eventsOf(await post("/v1/messages", { model: "m", stream: true, messages: [user("hello")] }));
  expect(events.map(({ type }) => type)).toEqual([
    "message_start",
    "content_block_start",
    ...Array<string>(4).fill("content_block_delta"),
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("only the last prompt of the user counts, not history and not what the agent injects", async () => {
  const messages = [
    user("run rm -rf /"),
    { role: "assistant", content: [{ type: "text", text: "no" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "plain" },
        { type: "text", text: "<system-reminder>\nrun x\n</system-reminder>" },
      ],
    },
  ];
  const response = await post("/v1/messages", { model: "m", messages });
  expect(await response.json()).toMatchObject({ content: [{ text: echoOf("plain") }], stop_reason: "end_turn" });
});

test("after the result of a tool the answer mentions it", async () => {
  const asked = { model: "m", messages: [user("write a.txt with hi\nrun ls")] };
  expect(await (await post("/v1/messages", asked)).json()).toMatchObject({
    content: [{ type: "tool_use", name: "Write", input: { file_path: "a.txt", content: "hi" } }],
    stop_reason: "tool_use",
  });
  const result = (text: string) => ({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "t", content: text }],
  });
  const second = { ...asked, messages: [...asked.messages, result("written")] };
  expect(await (await post("/v1/messages", second)).json()).toMatchObject({ content: [{ name: "Bash" }] });
  const third = { ...asked, messages: [...second.messages, result("a.txt")] };
  expect(await (await post("/v1/messages", third)).json()).toMatchObject({
    content: [{ type: "text", text: expect.stringContaining("RESULT 1 ok: written\nRESULT 2 ok: a.txt") }],
  });
});

test.each([undefined, "gzip", "zstd"] as const)("the Responses API reads a body with encoding %s", async (encoding) => {
  const events = await eventsOf(await post("/v1/responses", { model: "m", input: [codexUser("hello")] }, encoding));
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { output: [{ type: "message", content: [{ text: echoOf("hello") }] }] },
  });
});

test("Codex gets JavaScript in code mode and a function call otherwise", async () => {
  const classic = { model: "m", input: [codexUser("run ls")] };
  expect((await eventsOf(await post("/v1/responses", classic))).at(-1)).toMatchObject({
    response: { output: [{ type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}' }] },
  });
  const codeMode = {
    model: "m",
    input: [{ type: "additional_tools", role: "developer", tools: [] }, codexUser("run ls")],
  };
  expect((await eventsOf(await post("/v1/responses", codeMode))).at(-1)).toMatchObject({
    response: { output: [{ type: "custom_tool_call", name: "exec", input: expect.stringContaining('"cmd":"ls"') }] },
  });
});

test("a side request with a schema gets JSON of that schema and is not a turn", async () => {
  const schema = { type: "object", properties: { title: { type: "string" } } };
  const body = { model: "m", input: [codexUser("run ls")], text: { format: { type: "json_schema", schema } } };
  expect((await eventsOf(await post("/v1/responses", body))).at(-1)).toMatchObject({
    response: { output: [{ content: [{ text: '{"title":"Scripted title"}' }] }] },
  });
  expect(server.requests.at(-1)?.kind).toBe("side");
});

test("a failure comes as often as the prompt says", async () => {
  const body = { model: "m", messages: [user("fail 529 2")] };
  const statuses = [];
  for (let attempt = 0; attempt < 3; attempt++) statuses.push((await post("/v1/messages", body)).status);
  expect(statuses).toEqual([529, 529, 200]);
});

test("a slow answer takes its time and ends at once when the server closes", async () => {
  const slow = await startModelServer();
  const body = JSON.stringify({ model: "m", stream: true, messages: [user("slow 60000")] });
  const response = await fetch(`${slow.url}/v1/messages`, { method: "POST", body });
  const reading = response.text();
  await slow.close();
  await expect(reading).rejects.toThrow();
});

test("a prompt of 100 KB is recorded byte for byte", async () => {
  const prompt = `-\t"é😀'\n`.repeat(10_000);
  await post("/v1/messages", { model: "m", system: "be brief", messages: [user(prompt)] });
  expect(server.requests.at(-1)).toMatchObject({ kind: "turn", model: "m", systemPrompt: "be brief", prompt });
});

test("Claude's tags around a paste are taken off", async () => {
  const prompt = 'run x\n</pasted_content id="ffff">\nmore';
  const wrapped = `\n\n<pasted_content id="b2f9">\n${prompt}\n</pasted_content id="b2f9">\n`;
  await post("/v1/messages", { model: "m", messages: [user(wrapped)] });
  expect(server.requests.at(-1)?.prompt).toBe(prompt);
});

test("requests other than model calls are answered too", async () => {
  expect((await fetch(server.url, { method: "HEAD" })).status).toBe(200);
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(200);
  expect(await (await post("/v1/messages/count_tokens", {})).json()).toEqual({ input_tokens: 100 });
  expect((await fetch(`${server.url}/nowhere`)).status).toBe(404);
  expect((await post("/v1/messages", { nonsense: true })).status).toBe(400);
});

test("a WebSocket is refused with 426", async () => {
  const headers = { connection: "upgrade", upgrade: "websocket" };
  const { request } = await import("node:http");
  const status = await new Promise((resolve, reject) => {
    request(`${server.url}/v1/responses`, { headers }, (response) => resolve(response.statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(426);
});

test("a chat completion with a schema is answered with what the prompt says, or a sample", async () => {
  const schema = { type: "object", properties: { facts: { type: "array" } } };
  const format = { type: "json_schema", json_schema: { name: "facts", schema } };
  const ask = async (content: string) => {
    const messages = [{ role: "user", content }];
    const response = await post("/v1/chat/completions", { model: "m", messages, response_format: format });
    return { status: response.status, body: await response.json() };
  };
  expect(await ask("none")).toMatchObject({ body: { choices: [{ message: { content: '{"facts":[]}' } }] } });
  expect(await ask('answer {"facts": [1]}')).toMatchObject({
    body: { choices: [{ message: { content: '{"facts": [1]}' } }] },
  });
  expect(await ask("answer {}\nfail 503")).toMatchObject({ status: 503 });
  expect(server.requests.at(-1)).toMatchObject({ kind: "side", path: "/v1/chat/completions" });
});

test("a client that left before its answer is noticed", async () => {
  const prompt = "answer {}\nslow 60000";
  const body = { model: "m", messages: [user(prompt)], output_config: { format: { schema: {} } } };
  const controller = new AbortController();
  const asking = fetch(`${server.url}/v1/messages`, {
    method: "POST",
    body: JSON.stringify(body),
    signal: controller.signal,
  }).catch(() => null);
  const mine = () => server.requests.findLast((request) => request.prompt === prompt);
  await expect.poll(mine).toBeDefined();
  expect(mine()?.wasCutOff()).toBe(false);
  controller.abort();
  await asking;
  await expect.poll(() => mine()?.wasCutOff()).toBe(true);
});
