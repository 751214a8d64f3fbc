import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { openCode } from "./opencode.ts";

const pluginUrl = new URL("./opencode-plugin.mjs", import.meta.url).href;

const hooksSchema = z.object({
  event: z.custom<(input: { event: unknown }) => Promise<void>>((value) => typeof value === "function"),
  "chat.message": z.custom<(input: object, output: object) => Promise<void>>((value) => typeof value === "function"),
});
const pluginSchema = z.object({
  Postern: z.custom<(input: object) => Promise<unknown>>((value) => typeof value === "function"),
});

/** The plugin as OpenCode loads it, with a client that reports one sub-agent. */
async function load(socketPath = "", env: Readonly<Record<string, string>> = {}) {
  const inbox = join(await makeTempFolder(), "inbox");
  vi.stubEnv("POSTERN_SESSION_INBOX", inbox);
  vi.stubEnv("POSTERN_SESSION_PERMISSIONS", socketPath);
  vi.stubEnv("POSTERN_OPENCODE_PID", undefined);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const posted: { url: string; body: unknown }[] = [];
  const client = {
    session: {
      get: async ({ path }: { path: { id: string } }) => ({ data: path.id === "ses_sub" ? { parentID: "ses_a" } : {} }),
    },
    _client: {
      // OpenCode reports the reply before it answers the call.
      async post({ url, body }: { url: string; body: unknown }) {
        posted.push({ url, body });
        const [, kind, requestID] = url.split("/");
        if (requestID === "per_gone") return { error: { name: "NotFoundError" } };
        await hooks.event({ event: { type: `${kind}.replied`, properties: { requestID } } });
        await vi.waitFor(async () => expect(JSON.stringify((await lines()).at(-1))).toContain("PostToolUse"));
        return {};
      },
    },
  };
  const { Postern } = pluginSchema.parse(await import(pluginUrl));
  const hooks = hooksSchema.parse(await Postern({ client, directory: "/code/project" }));
  const lines = async () =>
    (await readFile(inbox, "utf8").catch(() => ""))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line).payload)
      .filter((payload) => payload !== undefined);
  return {
    posted,
    lines,
    events: async () => (await lines()).map((payload) => openCode.parseHook(JSON.stringify(payload))?.event),
    tell: (type: string, properties: object) => hooks.event({ event: { type, properties } }),
    async say(sessionID: string, text: string) {
      const parts = [
        { type: "text", text },
        { type: "text", text: "a file", synthetic: true },
      ];
      await hooks["chat.message"]({ sessionID }, { message: {}, parts });
      return parts[0]?.text;
    },
  };
}

const answer = (id: string, completed?: number) => ({
  info: { sessionID: "ses_a", id, role: "assistant", time: { completed } },
});
const status = (type: string) => ({ sessionID: "ses_a", status: { type } });

test("a session, its prompts and the ends of its turns are reported; a sub-agent's are not", async () => {
  const { say, tell, events } = await load();
  expect(await say("ses_a", "hello @file ")).toBe("hello @file");
  await say("ses_sub", "look around");
  await tell("session.status", status("busy"));
  await tell("message.updated", answer("msg_1"));
  await tell("message.updated", answer("msg_1", 1));
  await tell("session.status", status("idle"));
  await tell("session.status", status("idle"));
  await say("ses_b", "another one");
  await expect
    .poll(events)
    .toEqual([
      { kind: "session_start", reason: "startup" },
      { kind: "prompt_submitted", prompt: "hello @file" },
      { kind: "turn_ended" },
      { kind: "session_end", reason: "clear" },
      { kind: "session_start", reason: "startup" },
      { kind: "prompt_submitted", prompt: "another one" },
    ]);
});

test("an interrupted turn ends once, when its last answer is complete; a failed one has its reason", async () => {
  const { say, tell, events } = await load();
  await say("ses_a", "one");
  await tell("message.updated", answer("msg_1"));
  await tell("session.error", { sessionID: "ses_a", error: { name: "MessageAbortedError" } });
  await tell("session.status", status("idle"));
  await expect.poll(async () => (await events()).length).toBe(2);
  await tell("message.updated", answer("msg_1", 1));
  await tell("session.status", status("idle"));
  await say("ses_a", "two");
  await tell("session.error", { sessionID: "ses_a", error: { name: "APIError", data: { message: "Broken." } } });
  await tell("session.status", status("idle"));
  await expect
    .poll(async () => (await events()).slice(2))
    .toEqual([
      { kind: "turn_ended" },
      { kind: "prompt_submitted", prompt: "two" },
      { kind: "turn_failed", message: "Broken." },
    ]);
});

test("changing to another session before the first prompt ends the resumed one", async () => {
  const { say, lines } = await load("", { POSTERN_OPENCODE_RESUMED: "ses_a" });
  await say("ses_b", "hello");
  await expect
    .poll(async () => (await lines()).map(({ session_id: id, hook_event_name: name }) => `${id} ${name}`))
    .toEqual(["ses_a SessionEnd", "ses_b SessionStart", "ses_b UserPromptSubmit"]);
});

test("OpenCode reports nothing when it runs a single command", async () => {
  const inbox = join(await makeTempFolder(), "inbox");
  vi.stubEnv("POSTERN_SESSION_INBOX", inbox);
  vi.stubEnv("POSTERN_OPENCODE_PID", String(process.pid + 1));
  onTestFinished(() => void vi.unstubAllEnvs());
  const { Postern } = pluginSchema.parse(await import(pluginUrl));
  expect(await Postern({ client: {}, directory: "/code/project" })).toEqual({});
});

const request = {
  id: "per_1",
  sessionID: "ses_sub",
  permission: "bash",
  patterns: ["ls"],
  metadata: { command: "ls" },
};

test("requests are answered by the gateway, in OpenCode's terms", async () => {
  const decisions = [
    { decision: { behavior: "deny", message: "Not now." } },
    { decision: { behavior: "allow" }, input: { answers: { "Which?": "This" } } },
  ];
  const socketPath = join(await makeTempFolder(), "permissions");
  const taken: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (line) => void taken.push(line.toString()));
    socket.once("data", () => socket.write(`${JSON.stringify(decisions.shift() ?? null)}\n`));
  }).listen(socketPath);
  onTestFinished(() => void server.close());
  const { say, tell, posted, events } = await load(socketPath);
  await say("ses_a", "hello");
  await tell("permission.asked", request);
  await expect
    .poll(() => posted)
    .toEqual([{ url: "/permission/per_1/reply", body: { reply: "reject", message: "Not now." } }]);
  await expect.poll(() => taken.at(-1)).toContain('"taken":true');
  await tell("question.asked", { id: "que_1", sessionID: "ses_a", questions: [{ question: "Which?", options: [] }] });
  await expect.poll(() => posted.at(-1)).toEqual({ url: "/question/que_1/reply", body: { answers: [["This"]] } });
  const told = await events();
  const input = { command: "ls", patterns: ["ls"] };
  expect(told[2]).toMatchObject({
    kind: "permission_asked",
    asks: "permission",
    tool: "bash",
    input,
    subagent: "ses_sub",
  });
  expect(told[3]).toMatchObject({ kind: "tool_ended" });
  expect(told[4]).toMatchObject({ kind: "permission_asked", asks: "question" });
});

test("an answer that OpenCode rejects is not confirmed", async () => {
  const socketPath = join(await makeTempFolder(), "permissions");
  const said: string[] = [];
  let open = 0;
  const server = createServer((socket) => {
    open += 1;
    socket.on("error", () => undefined).on("close", () => void (open -= 1));
    socket.on("data", (line) => void said.push(line.toString()));
    socket.once("data", () => socket.write(`${JSON.stringify({ decision: { behavior: "allow" } })}\n`));
  }).listen(socketPath);
  onTestFinished(() => void server.close());
  const { say, tell, posted } = await load(socketPath);
  await say("ses_a", "hello");
  await tell("permission.asked", { ...request, id: "per_gone" });
  await expect.poll(() => posted.length).toBe(1);
  await expect.poll(() => open).toBe(0);
  expect(said).toHaveLength(1);
});

test("a request that was answered in the terminal is closed, and no longer waits for a decision", async () => {
  const socketPath = join(await makeTempFolder(), "permissions");
  let waiting = 0;
  const server = createServer((socket) => {
    socket
      .resume()
      .on("error", () => undefined)
      .on("close", () => void (waiting -= 1));
    waiting += 1;
  }).listen(socketPath);
  onTestFinished(() => void server.close());
  const { say, tell, events, posted } = await load(socketPath);
  await say("ses_a", "hello");
  await tell("permission.asked", { ...request, sessionID: "ses_a" });
  await expect.poll(() => waiting).toBe(1);
  await tell("permission.replied", { requestID: "per_1" });
  await expect.poll(() => waiting).toBe(0);
  const [asked, ended] = (await events()).slice(2);
  expect(asked).toMatchObject({ kind: "permission_asked" });
  expect(ended).toMatchObject({ kind: "tool_ended" });
  if (asked?.kind !== "permission_asked" || ended?.kind !== "tool_ended") throw new Error("Not told.");
  expect(ended.callKey).toBe(asked.callKey);
  expect(posted).toEqual([]);
});
