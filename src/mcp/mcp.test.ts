import { expect, test } from "vitest";
import { createRawMcpClient } from "../../test/support/mcp-raw.ts";
import { oneSession, startMcpServer } from "../../test/support/mcp-server.ts";
import { driveTool, echoTool, failTool, slowTool } from "../../test/support/mcp-tools.ts";
import { readOutput, sessionSummary } from "../../test/support/scripted-gateway.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { PosternError } from "../core/errors.ts";
import type { McpSessions } from "./ports.ts";

const patient = { timeout: 10_000, interval: 20 };
const { sessionId } = sessionSummary();
const uri = `postern://sessions/${sessionId}`;

test.each(["2025", "2026"] as const)("a client of %s lists the tools that its caller can use", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool, driveTool] });
  const client = await connect(era, await token("coding:read"));
  expect(client.getNegotiatedProtocolVersion()).toBe(era === "2025" ? "2025-11-25" : "2026-07-28");
  expect(client.getServerVersion()).toMatchObject({ name: "postern", title: "Postern", version: "1.2.3" });
  expect(client.getInstructions()).toContain("waitMs");
  const { tools } = await client.listTools();
  expect(tools).toMatchObject([
    {
      name: "echo",
      title: "Echo",
      description: "Says it again.",
      inputSchema: { type: "object", required: ["text"], additionalProperties: false },
      outputSchema: { type: "object", required: ["notice", "text"] },
      annotations: {
        title: "Echo",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
  ]);
  const driver = await connect(era, await token("coding:read", "coding:drive"));
  expect((await driver.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "drive"]);
});

test.each(["2025", "2026"] as const)("a client of %s gets structured content and text", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool] });
  const client = await connect(era, await token("coding:read"));
  await client.listTools(); // with the output schemas, the client validates answers
  const result = await client.callTool({ name: "echo", arguments: { text: "Grüße" } });
  expect(result.isError).toBeUndefined();
  expect(result.structuredContent).toEqual({ notice: expect.stringMatching(/^Untrusted: /), text: "Grüße" });
  const [content] = result.content;
  expect(content?.type === "text" && JSON.parse(content.text)).toEqual(result.structuredContent);
});

test.each(["2025", "2026"] as const)("errors are reported to the LLM of a client of %s", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool, failTool] });
  const client = await connect(era, await token("coding:read"));
  const textOf = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const { isError, content } = await client.callTool({ name, arguments: args });
    expect(isError).toBe(true);
    return content[0]?.type === "text" ? content[0].text : "";
  };
  expect(await textOf("fail", { code: "session_busy" })).toBe(
    'Error session_busy: It is busy. Try later.\nDetails: {"sessionId":"s1"}',
  );
  const inside = await textOf("fail", {});
  expect(inside).toMatch(/^Error internal_error: Unexpected error in the gateway/);
  expect(inside).not.toContain("secret");
  const unfit = await textOf("echo", { text: "", more: { depth: "x" }, wrong: 1 });
  expect(unfit).toMatch(/^Error invalid_request: .*text: .*more\.depth: .*wrong: Unknown field/);
  await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toThrow(/tool "nothing"/);
});

test.each(["2025", "2026"] as const)("a client of %s gets progress on request", async (era) => {
  const slow = slowTool();
  const { connect, token } = await startMcpServer({ tools: [slow.tool], limits: { progressMs: 20 } });
  const client = await connect(era, await token("coding:read"));
  const told: {
    readonly progress: number;
    readonly message?: string | undefined;
    readonly total?: number | undefined;
  }[] = [];
  const call = client.callTool(
    { name: "slow", arguments: { sessionId, waitMs: 60_000 } },
    { onprogress: (progress) => void told.push(progress) },
  );
  await expect.poll(() => told.length, patient).toBeGreaterThan(1);
  slow.finish();
  expect((await call).structuredContent).toEqual({ text: "done" });
  expect(told[0]).toMatchObject({ total: 60, message: "claude-code is idle (0 s)" });
  const count = told.length;
  await client.listTools();
  expect(told.length).toBe(count);
});

test.each(["2025", "2026"] as const)("a call that a client of %s cancels is aborted", async (era) => {
  const slow = slowTool();
  const { connect, token } = await startMcpServer({ tools: [slow.tool] });
  const client = await connect(era, await token("coding:read"));
  const cancelling = new AbortController();
  const call = client.callTool({ name: "slow", arguments: {} }, { signal: cancelling.signal });
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  cancelling.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => slow.signals[0]?.aborted, patient).toBe(true);
  expect((await client.listTools()).tools).toHaveLength(1);
});

test.each(["2025", "2026"] as const)("sessions are resources of a client of %s", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool] });
  const client = await connect(era, await token("coding:read"));
  const { resources } = await client.listResources();
  expect(resources).toMatchObject([{ uri, name: sessionId, title: "A [31mtitle", mimeType: "text/markdown" }]);
  expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
    { uriTemplate: "postern://sessions/{sessionId}" },
  ]);
  const [content] = (await client.readResource({ uri })).contents;
  expect(content !== undefined && "text" in content && content.text).toMatch(
    /^Untrusted: [\s\S]*Session 0b0c[\s\S]*## 0 user[\s\S]*hi[\s\S]*## 1 assistant[\s\S]*hello$/,
  );
  await expect(client.readResource({ uri: "postern://sessions/unknown" })).rejects.toThrow(/sessions\/unknown/);
  const ref = { type: "ref/resource", uri: "postern://sessions/{sessionId}" } as const;
  const { completion } = await client.complete({ ref, argument: { name: "sessionId", value: "0b" } });
  expect(completion).toMatchObject({ values: [sessionId], hasMore: false });
  const none = await connect(era, await token("logs:read"));
  expect(await none.listResources()).toMatchObject({ resources: [] });
});

test("a subscribed session reports its turns", async () => {
  const { connect, token, publish } = await startMcpServer({ tools: [echoTool] });
  const client = await connect("2025", await token("coding:read"));
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  await client.subscribeResource({ uri });
  await expect(client.subscribeResource({ uri: "postern://sessions/unknown" })).rejects.toThrow(/sessions\/unknown/);
  const event = { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A" };
  publish({ kind: "event", event: { ...event, sessionId: "another" } });
  publish({ kind: "event", event: { ...event, sessionId } });
  await expect.poll(() => updated, patient).toEqual([uri]);
  await client.unsubscribeResource({ uri });
  publish({ kind: "event", event: { ...event, sessionId } });
  await client.ping();
  expect(updated).toEqual([uri]);
});

test("a subscribed session reports nothing to a caller that lost access", async () => {
  let visible = true;
  const other = readOutput({ sessionId: "0b0c0000-0000-4000-8000-000000000002" });
  const sessions: McpSessions = {
    ...oneSession,
    async read(input, principal, signal) {
      if (input.sessionId === other.sessionId) return other;
      if (visible) return oneSession.read(input, principal, signal);
      throw new PosternError("session_not_found", "Not in a folder of the caller.");
    },
  };
  const { connect, token, publish } = await startMcpServer({ tools: [echoTool], sessions });
  const client = await connect("2025", await token("coding:read"));
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  const otherUri = `postern://sessions/${other.sessionId}`;
  for (const each of [uri, otherUri]) await client.subscribeResource({ uri: each });
  visible = false;
  const event = { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A" };
  publish({ kind: "event", event: { ...event, sessionId } });
  publish({ kind: "event", event: { ...event, sessionId: other.sessionId } });
  await expect.poll(() => updated, patient).toEqual([otherUri]);
});

test("a session that a client of 2026 listens to reports its turns, if it is visible", async () => {
  const { connect, token, publish } = await startMcpServer({ tools: [echoTool] });
  const client = await connect("2026", await token("coding:read"));
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  await client.listen({ resourceSubscriptions: [uri] });
  publish({ kind: "event", event: { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A", sessionId } });
  await expect.poll(() => updated, patient).toEqual([uri]);
  await expect(client.listen({ resourceSubscriptions: ["postern://sessions/unknown"] })).rejects.toThrow(/not found/);
});

/** A raw request of the newer specification, because a client would correct it. */
function modernBody(method: string, params: object) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { jsonrpc: "2.0", id: 1, method, params: { _meta: meta, ...params } };
}

test.each([
  ["without a filter", {}],
  ["with an invalid filter", { notifications: { resourceSubscriptions: uri } }],
  ["to a URI that is too long", { notifications: { resourceSubscriptions: [uri, `${uri}${"x".repeat(1_000)}`] } }],
  ["to too many", { notifications: { resourceSubscriptions: Array.from({ length: 101 }, (_, at) => `${uri}${at}`) } }],
  ["to an invisible session", { notifications: { resourceSubscriptions: ["postern://sessions/unknown"] } }],
])("listening %s is refused", async (_words, params) => {
  const { mcpUrl, token } = await startMcpServer({ tools: [echoTool] });
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
  const body = modernBody("subscriptions/listen", params);
  const reader = createRawMcpClient(mcpUrl, await token("coding:read"));
  const refused = await reader.post(body, headers);
  await expect.poll(() => refused.text, patient).toContain('"code":-32602');
  expect(refused.headers.get("content-type")).toContain("application/json");
  const stranger = createRawMcpClient(mcpUrl, await token("logs:read"));
  expect((await stranger.post(body, headers)).status).toBe(403);
});

test.each(["2025", "2026"] as const)(
  "a client of %s gets updates of a session by its alias, and after it continues under another id",
  async (era) => {
    const sessions: McpSessions = {
      ...oneSession,
      read: async () => readOutput({ sessionId: "now", sessionAliases: ["before"] }),
    };
    const { connect, token, publish } = await startMcpServer({ tools: [echoTool], sessions });
    const client = await connect(era, await token("coding:read"));
    const updated: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
    const alias = "postern://sessions/before";
    if (era === "2025") await client.subscribeResource({ uri: alias });
    else await client.listen({ resourceSubscriptions: [alias] });
    const event = { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A" };
    publish({ kind: "event", event: { ...event, sessionId: "now" } });
    await expect.poll(() => updated, patient).toEqual([alias]);
    const created = { kind: "session.created", status: "running", activity: null, replaces: "now" } as const;
    publish({ kind: "event", event: { ...event, ...created, sessionId: "later" } });
    publish({ kind: "event", event: { ...event, sessionId: "later" } });
    await expect.poll(() => updated, patient).toEqual([alias, alias]);
  },
);

test("the limit on subscriptions of a stream does not limit the number of streams", async () => {
  const { connect, token } = await startMcpServer({ tools: [echoTool], limits: { maxSubscriptions: 1 } });
  for (const bearer of [await token("coding:read"), await token("coding:read")]) {
    const client = await connect("2026", bearer);
    await client.listen({ resourceSubscriptions: [uri] });
  }
});

test("a call of the newer specification starts its response stream before it is done", async () => {
  const slow = slowTool();
  const { mcpUrl, token } = await startMcpServer({ tools: [slow.tool] });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "slow" };
  const call = await client.post(modernBody("tools/call", { name: "slow", arguments: {} }), headers);
  expect(call.headers.get("content-type")).toContain("text/event-stream");
  expect(call.ended).toBe(false);
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  slow.finish();
  await expect.poll(() => call.messages, patient).toMatchObject([{ id: 1, result: {} }]);
});
