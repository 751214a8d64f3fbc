import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { picture } from "../../test/support/pictures.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { outline } from "../../test/support/turn-outline.ts";
import { type FormatName, transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { Transcripts } from "./transcripts.ts";
import { createTranscripts } from "./transcripts.ts";

let path: string;
let transcripts: Transcripts;

beforeEach(async () => {
  path = join(await makeTempFolder(), "t.jsonl");
  await writeFile(path, "");
  transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
});

const append = (...lines: object[]): Promise<void> =>
  appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

async function read(format: FormatName) {
  const answer = await transcripts.read(path, format, { limit: 100 });
  return { told: outline(answer?.turns ?? []), state: answer?.summary.lastTurn.kind, turns: answer?.turns ?? [] };
}

test("a working directory with a NUL in it is unknown", async () => {
  const nul = "/project/a\0b";
  await append({ type: "user", cwd: nul, sessionId: "s", message: { role: "user", content: "hi" } });
  expect((await transcripts.summary(path, "claude"))?.cwd).toBeNull();
  const rollout = `${path}.rollout.jsonl`;
  await writeFile(rollout, `${JSON.stringify({ type: "session_meta", payload: { id: "s", cwd: nul } })}\n`);
  expect((await transcripts.summary(rollout, "codex"))?.cwd).toBeNull();
});

describe("a line of Claude Code", () => {
  const user = (content: unknown, more: object = {}): object => ({
    parentUuid: null,
    isSidechain: false,
    type: "user",
    message: { role: "user", content },
    ...more,
  });
  const assistant = (block: object, stop: string | null = "end_turn", more: object = {}): object => ({
    parentUuid: null,
    isSidechain: false,
    message: { id: JSON.stringify(block), role: "assistant", model: "m", content: [block], stop_reason: stop },
    type: "assistant",
    ...more,
  });
  const text = (words: string): object => ({ type: "text", text: words });

  test("of a local command is not a turn, even if the agent writes unprompted afterwards", async () => {
    const command = user(
      "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>",
    );
    await append(
      user("hi"),
      assistant(text("hello")),
      command,
      user("<local-command-stdout>Set model</local-command-stdout>"),
    );
    await append(
      user("<task-notification>done</task-notification>", { origin: { kind: "task-notification" } }),
      assistant(text("It is done.")),
    );
    expect((await read("claude")).told).toEqual(["user: hi", "assistant: hello | It is done."]);
    await append(command, {
      type: "system",
      subtype: "local_command",
      content: "<local-command-stdout></local-command-stdout>",
    });
    await append(assistant(text("Still here.")));
    expect((await read("claude")).told).toEqual(["user: hi", "assistant: hello | It is done. | Still here."]);
  });

  test("that another part of the agent wrote as the user is no turn, whatever its text", async () => {
    await append(
      user("hi"),
      assistant(text("hello")),
      user("please continue", { origin: { kind: "auto-continuation" } }),
    );
    expect((await read("claude")).told).toHaveLength(2);
  });

  test("that a person typed is a prompt, even when it looks like something else", async () => {
    const typed = { origin: { kind: "human" }, promptSource: "typed" };
    await append(
      user("[Request interrupted by user]", typed),
      user("<system-reminder>what is this?", typed),
      user("<bash-stdout>", typed),
    );
    expect((await read("claude")).told).toHaveLength(3);
    await append(user([text("[Request interrupted by user for tool use]")]));
    expect(await read("claude")).toMatchObject({ told: { length: 3 }, state: "aborted" });
  });

  test("of a side chain, a compaction's summary or a meta line is no turn", async () => {
    await append(
      user("hi"),
      user("sub task", { isSidechain: true }),
      assistant(text("sub answer"), "end_turn", { isSidechain: true }),
      assistant(text("hello")),
      assistant(text("sub answer"), "tool_use", { isSidechain: true }),
      user("summary of everything", { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
      user("continue", { isMeta: true }),
      assistant(text("and on")),
    );
    expect(await read("claude")).toMatchObject({ told: ["user: hi", "assistant: hello | and on"], state: "ended" });
  });

  test("with images shows the text next to them, without an editor's context", async () => {
    const image = { type: "image", source: { type: "base64", data: "AAAA" } };
    await append(
      user([text("<ide_opened_file>a.ts</ide_opened_file>"), text("look [Image #1]"), image]),
      user([image]),
    );
    expect((await read("claude")).told).toEqual(["user: look [Image #1]", "user: [image]"]);
  });

  test("with a tool result after a text is a result, not a prompt", async () => {
    await append(user("hi"), assistant({ type: "tool_use", id: "t", name: "Bash", input: {} }, "tool_use"));
    await append(
      user([text("note"), { type: "tool_result", tool_use_id: "t", content: [text("out"), { type: "image" }] }]),
    );
    expect((await read("claude")).told).toEqual(["user: hi", 'assistant: Bash ok "out\\n[image]"']);
  });

  test("with images in a tool's result lists those that are images, and gives them by call and position", async () => {
    const call = { type: "tool_use", id: "t", name: "Read", input: {} };
    const image = (data: string): object => ({
      type: "image",
      source: { type: "base64", data, media_type: "image/png" },
    });
    const [one, two] = [picture(1).toString("base64"), picture(2).toString("base64")];
    const html = Buffer.from("<script>alert(1)</script>").toString("base64");
    const result = user([{ type: "tool_result", tool_use_id: "t", content: [image(one), image(html), image(two)] }]);
    await append(user("look"), assistant(call, "tool_use"), result, result);
    const images = [picture(1), picture(2)].map(({ length }) => ({ mediaType: "image/png", sizeBytes: length }));
    expect((await read("claude")).turns[1]?.blocks).toMatchObject([{ result: { images } }]);
    const at = (turn: number, call: string, image: number) =>
      transcripts.picture(path, "claude", { turn, call, image });
    expect(await at(1, "t", 0)).toBe(one);
    expect(await at(1, "t", 1)).toBe(two);
    expect([await at(1, "t", 2), await at(1, "other", 0), await at(0, "t", 0), await at(9, "t", 0)]).toEqual([
      ...[null, null, null, null],
    ]);
  });

  test("that was written twice counts once", async () => {
    const answer = assistant(text("hello"), "end_turn", { uuid: "u1" });
    await append(user("hi"), answer, answer);
    expect((await read("claude")).told).toEqual(["user: hi", "assistant: hello"]);
  });

  test("of a message continues after its thinking, until the line that ends the turn", async () => {
    await append(user("hi"), assistant({ type: "thinking", thinking: "hm" }));
    expect((await read("claude")).state).toBe("open");
    await append({ parentUuid: null, isSidechain: false, type: "system", subtype: "turn_duration", durationMs: 1 });
    expect((await read("claude")).state).toBe("ended");
  });

  test("is read with its keys in any order and with space between them", async () => {
    await appendFile(path, '{ "message" : { "content" : "hi" , "role" : "user" } , "type" : "user" }\n');
    await appendFile(
      path,
      '{"message":{"content":[{"text":"yo","type":"text"}],"role":"assistant"},"type":"assistant"}\r\n',
    );
    expect((await read("claude")).told).toEqual(["user: hi", "assistant: yo"]);
  });
});

describe("a line of Codex", () => {
  const event = (payload: object): object => ({ timestamp: "2026-01-01T00:00:00.000Z", type: "event_msg", payload });
  const response = (payload: object): object => ({
    timestamp: "2026-01-01T00:00:00.000Z",
    type: "response_item",
    payload,
  });
  const message = (role: string, text: string): object =>
    response({ type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] });
  const meta = (more: object): object => ({ type: "session_meta", payload: { id: "thread", cwd: "/work", ...more } });

  test("in the model's form alone makes the turns of the oldest files", async () => {
    await append(
      { timestamp: null, id: "old", instructions: null },
      message("user", "<environment_context><cwd>/old</cwd></environment_context>"),
    );
    await append(message("user", "hi"), message("assistant", "hello"), message("user", "more"));
    expect((await read("codex")).told).toEqual(["user: hi", "assistant: hello", "user: more"]);
    expect((await transcripts.summary(path, "codex"))?.cwd).toBe("/old");
  });

  test("in a newer form replaces the guess from the model's input", async () => {
    await append(
      meta({}),
      message("user", "<some_new_context>nobody typed this</some_new_context>"),
      message("user", "hi"),
    );
    expect((await read("codex")).told).toHaveLength(2);
    await append(
      event({ type: "user_message", message: "hi" }),
      event({ type: "agent_message", message: "hello" }),
      message("assistant", "hello"),
    );
    expect((await read("codex")).told).toEqual(["user: hi", "assistant: hello"]);
    await append(message("user", "again"), event({ type: "user_message", message: "again" }));
    expect((await read("codex")).told).toEqual(["user: hi", "assistant: hello", "user: again"]);
  });

  test("that replaces a guessed prompt continues the answer before it, even if that was already read", async () => {
    const prompt = { type: "UserMessage", content: [{ type: "text", text: "hi" }] };
    await append(response({ type: "function_call", call_id: "c", name: "f", arguments: "{}" }));
    await append(message("user", "<some_new_context>nobody typed this</some_new_context>"));
    expect((await read("codex")).told).toHaveLength(2);
    await append(response({ type: "function_call_output", call_id: "c", output: "late" }));
    await append(event({ type: "item_completed", thread_id: "thread", item: prompt }));
    expect((await read("codex")).told).toEqual(['assistant: f ok "late"', "user: hi"]);
  });

  test("from a newer version in the same file counts nothing twice", async () => {
    const item = (value: object): object => event({ type: "item_completed", thread_id: "thread", item: value });
    await append(
      meta({}),
      event({ type: "user_message", message: "one" }),
      event({ type: "agent_message", message: "1" }),
    );
    await append(message("user", "two"), event({ type: "user_message", message: "two" }));
    await append(item({ type: "UserMessage", content: [{ type: "text", text: "two" }] }));
    await append(message("assistant", "2"), item({ type: "AgentMessage", content: [{ type: "Text", text: "2" }] }));
    await append(event({ type: "agent_message", message: "2" }));
    expect((await read("codex")).told).toEqual(["user: one", "assistant: 1", "user: two", "assistant: 2"]);
    await append(item({ type: "UserMessage", content: [{ type: "text", text: "two" }] }));
    expect((await read("codex")).told).toHaveLength(5);
  });

  test("that answers in an older form is replaced by the newer form of the same answer", async () => {
    await append(
      event({ type: "user_message", message: "hi" }),
      response({ type: "function_call", call_id: "c", name: "f", arguments: "{}" }),
    );
    await append(event({ type: "agent_message", message: "hello" }));
    await append(
      event({ type: "item_completed", item: { type: "AgentMessage", content: [{ type: "Text", text: "hello" }] } }),
    );
    expect((await read("codex")).told).toEqual(["user: hi", "assistant: f open | hello"]);
  });

  test("of another thread is not part of any turn", async () => {
    const item = (thread: string, text: string): object =>
      event({
        type: "item_completed",
        thread_id: thread,
        item: { type: "AgentMessage", content: [{ type: "Text", text }] },
      });
    const prompt = event({
      type: "item_completed",
      thread_id: "sub",
      item: { type: "UserMessage", content: [{ type: "text", text: "sub" }] },
    });
    await append(
      meta({ history_mode: "paginated" }),
      prompt,
      item("sub", "x"),
      item("thread", "mine"),
      item("sub", "y"),
    );
    expect((await read("codex")).told).toEqual(["assistant: mine"]);
  });

  test("with the summary of a compaction does not answer the prompt before it", async () => {
    await append(meta({ history_mode: "legacy" }), event({ type: "user_message", message: "hi" }));
    await append(event({ type: "task_complete", error: { message: "busy" } }), message("assistant", "summary"));
    expect(await read("codex")).toMatchObject({ told: ["user: hi"], state: "failed" });
  });

  test("of a fork that repeats its parent's head keeps the fork's id", async () => {
    await append(meta({ id: "fork" }), meta({ id: "parent" }), event({ type: "user_message", message: "hi" }));
    expect((await transcripts.summary(path, "codex"))?.agentSessionId).toBe("fork");
  });

  test("of an injected kind is no prompt, and an editor's context is removed", async () => {
    await append(event({ type: "user_message", kind: "environment_context", message: "<environment_context/>" }));
    await append(
      event({
        type: "user_message",
        message: "# Context from my IDE setup:\n\nfiles\n\n## My request for Codex:\nfix it",
      }),
    );
    await append(event({ type: "user_message", message: "", images: ["data:"] }));
    expect((await read("codex")).told).toEqual(["user: fix it", "user: [image]"]);
  });

  test("shows a failed MCP call, a declined patch and a web search", async () => {
    const item = (value: object): object => event({ type: "item_completed", item: value });
    await append(event({ type: "user_message", message: "hi" }));
    await append(
      item({
        type: "McpToolCall",
        id: "1",
        server: "s",
        tool: "t",
        arguments: {},
        status: "failed",
        error: { message: "no" },
      }),
    );
    await append(
      item({ type: "FileChange", id: "2", changes: {}, status: "declined" }),
      item({ type: "WebSearch", id: "3", query: "q" }),
    );
    await append(response({ type: "function_call", call_id: "4", name: "view", arguments: "not json" }));
    await append(
      response({ type: "function_call_output", call_id: "4", output: { content: "no file", success: false } }),
    );
    await append(response({ type: "local_shell_call", call_id: "5", action: { type: "exec", command: ["ls"] } }));
    expect((await read("codex")).told[1]).toBe(
      'assistant: mcp__s__t failed "no" | apply_patch failed "" | web_search ok "" | view failed "no file" | shell open',
    );
  });
});
